"""Tables that are counted where they are: DuckDB, Spark, Dask, SQL databases, polars' lazy frames."""
