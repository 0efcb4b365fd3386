set -e
cd /tmp/join
cmake -S . -B /tmp/join-build -G Ninja -DPython_EXECUTABLE=/tmp/dev/bin/python > /tmp/join-build.log 2>&1 || { tail -20 /tmp/join-build.log; exit 1; }
ninja -C /tmp/join-build 2>&1 | grep -E 'error|warning|FAILED|ninja:' | head -40
cp /tmp/join-build/_kernels*.so /tmp/join/src/naively/
