"""The one exception that is a person's business."""


class BadInput(Exception):
    """Wrong input from a person: one sentence that names the file, the value and the remedy.

    The command line prints it and exits with code 2; a library user sees it as any exception.
    """
