"""``python -m heald``: the command line where the ``heald`` script is not on the path."""

from heald.cli import main

if __name__ == "__main__":
    main()
