"""Running programs under morph: the command line, start-up files, child processes, and pytest's plug-in."""
