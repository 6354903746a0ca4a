"""`python -m seasync`: the command line, also where its folder is not on the path."""

from seasync.cli import main

main()
