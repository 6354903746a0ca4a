"""Speed and accuracy, each a command: `python -m benchmarks.NAME [--quick]`."""
