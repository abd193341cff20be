"""Errors of the warehouse.

WarehouseError
├── StorageError              a storage call failed
│   ├── ObjectMissingError    there is no object of that path
│   ├── ObjectExistsError     there is one already, and objects are never overwritten
│   ├── LockHeldError         somebody else holds the exclusive lock
│   └── PointerMovedError     the pointer is not what the caller last read
├── DocumentMissingError      a landed document or run is not in the landing store
├── DocumentDamagedError      a landed document's bytes are not those that were landed
├── LandingBusyError          the landing store is in use, so it cannot be pruned
├── CandidateError            what is to be published is not what the schema promises
├── PublishConflictError      another publisher is at work, or published meanwhile
├── ReleaseOrderError         the release to publish is of an earlier time than the latest
├── ReleaseDamagedError       a release's files and its manifest disagree
├── UnknownReleaseError       no release of that id, or none at all
└── QueryError                a query is refused or fails
"""


class WarehouseError(Exception):
    """Root of this folder's errors."""


class StorageError(WarehouseError):
    """A storage call failed."""


class ObjectMissingError(StorageError):
    """There is no object of that path."""


class ObjectExistsError(StorageError):
    """There is an object of that path already, and objects are never overwritten."""


class LockHeldError(StorageError):
    """Somebody else holds the exclusive lock."""


class PointerMovedError(StorageError):
    """The pointer is not what the caller last read."""


class DocumentMissingError(WarehouseError):
    """A landed document or run is not in the landing store."""


class DocumentDamagedError(WarehouseError):
    """A landed document's bytes are not those that were landed.

    Attributes:
        sha256: digest that names the body; None where a record is damaged, not a body.
    """

    def __init__(self, message: str, sha256: str | None = None) -> None:
        """Say what is damaged and what to do; name the body, if it is one."""
        super().__init__(message)
        self.sha256 = sha256


class LandingBusyError(WarehouseError):
    """The landing store is in use, so it cannot be pruned."""


class CandidateError(WarehouseError):
    """What is to be published is not what the schema promises."""


class PublishConflictError(WarehouseError):
    """Another publisher is at work, or published meanwhile."""


class ReleaseOrderError(WarehouseError):
    """The release to publish is of an earlier time than the latest one."""


class ReleaseDamagedError(WarehouseError):
    """A release's files and its manifest disagree."""


class UnknownReleaseError(WarehouseError):
    """No release of that id, or none at all."""


class QueryError(WarehouseError):
    """A query is refused or fails."""
