"""The commands: argv to calls to rendering. The only layer that prints."""
