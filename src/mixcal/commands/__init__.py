"""The commands, one file a verb: `add_options` describes it, `run` does it."""
