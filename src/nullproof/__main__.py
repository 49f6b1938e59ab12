"""``python -m nullproof`` and ``nullproof``: a process that runs one command and ends."""

import atexit
import gc
import sys

# Python looks for cycles each time so many objects are new. Its usual 700 make it look hundreds of times
# while libraries load, and everything that they load stays.
_NEW_OBJECTS = 200_000


def main() -> None:
    """Run the command line."""
    if "serve" not in sys.argv:
        # A server runs for long and lets go of whole tables; a command keeps nearly all it has.
        gc.set_threshold(_NEW_OBJECTS)
    # At the end the memory goes back as a whole, without a search for cycles in it.
    atexit.register(gc.freeze)
    from nullproof.cli.run import main as run

    run()


if __name__ == "__main__":
    main()
