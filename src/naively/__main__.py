"""``python -m naively`` is the command ``naively``."""

from .cli import main

if __name__ == "__main__":
    main(prog_name="naively")
