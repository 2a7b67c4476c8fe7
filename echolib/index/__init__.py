"""Our own database: schema, incremental build, ownership of copied facts, search. A disposable cache."""
