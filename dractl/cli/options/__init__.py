"""Options that several subcommands share, one module for each group."""
