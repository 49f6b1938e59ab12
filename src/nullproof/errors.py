"""The exceptions and warnings of nullproof: each message says what came, what was needed, what to do."""


class NullproofError(ValueError):
    """Input that nullproof cannot answer for; the message is one sentence for the user."""


class MissingExtraError(NullproofError, ImportError):
    """An optional dependency is not installed; the message gives the install line."""


class NullproofWarning(UserWarning):
    """Something in the data that the user should know of; the answer still holds."""


def missing_extra(what: str, extra: str) -> MissingExtraError:
    """Say which optional part is needed and how to install it."""
    return MissingExtraError(
        f"{what} needs an optional part that is not installed; "
        f'install it with: pip install "nullproof[{extra}]"'
    )
