from .sql_query import sql
