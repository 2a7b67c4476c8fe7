"""Versions of the rules whose verdicts are stored in the index: one goes up whenever its rules change."""

# Markers of corrections (corrections_markers).
CORRECTIONS = 1
# What is told of command lines (shell, shell_programs).
COMMANDS = 1
