"""A part is reused only by the code that made it."""

from importlib.metadata import version

import pytest

from flows import identity

FILES = (
    "connectors/aws/bulk_csv.py",
    "connectors/aws/ec2_api.py",
    "connectors/aws/savings_plan_wire.py",
    "connectors/aws/spot_feed.py",
    "connectors/aws/wire.py",
    "connectors/azure/wire.py",
    "flows/normalize.py",
    "transforms/aws_prices.py",
    "transforms/reference/regions.csv",
    "warehouse/schemas/parts.py",
    "warehouse/schemas/rules/aws.py",
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of a few files that stands in the place of this one."""
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    monkeypatch.setattr(identity, "_PROJECT", tmp_path)
    return tmp_path


def fingerprint():
    identity.fingerprint.cache_clear()
    found = identity.fingerprint()
    identity.fingerprint.cache_clear()
    return found


def code_version():
    identity.code_version.cache_clear()
    found = identity.code_version()
    identity.code_version.cache_clear()
    return found


def test_the_files_of_these_tests_are_files_of_the_project():
    assert [name for name in FILES if not (identity._PROJECT / name).is_file()] == []


@pytest.mark.parametrize("name", FILES)
def test_the_fingerprint_changes_with_every_file_that_makes_parts(project, name):
    before = fingerprint()
    assert fingerprint() == before
    (project / name).write_text("# changed\n")
    assert fingerprint() != before


def test_a_new_reference_file_changes_the_fingerprint(project):
    before = fingerprint()
    (project / "transforms" / "reference" / "sizes.csv").write_text("")
    assert fingerprint() != before


def test_contents_that_change_places_change_the_fingerprint(project):
    before = fingerprint()
    one, other = project / FILES[0], project / FILES[1]
    text = one.read_text()
    one.write_text(other.read_text())
    other.write_text(text)
    assert fingerprint() != before


def test_what_makes_no_parts_leaves_the_fingerprint(project):
    before = fingerprint()
    (project / "flows" / "cli.py").write_text("# the command\n")
    (project / "transforms" / "reference" / "notes.txt").write_text("where from")
    assert fingerprint() == before


def test_another_polars_is_other_code(project, monkeypatch):
    before = fingerprint()
    monkeypatch.setattr(identity, "version", lambda _: "99.0")
    assert fingerprint() != before


def test_outside_of_a_checkout_the_version_is_the_packages(project):
    assert code_version() == version("cloud-price-catalog")


def test_in_a_checkout_the_version_names_the_commit_and_whether_files_differ(project):
    def git(*arguments):
        own = ("user.name=Tester", "user.email=tester@test", "commit.gpgsign=false")
        return identity._git(*(part for one in own for part in ("-c", one)), *arguments)

    git("init", "--quiet")
    release = version("cloud-price-catalog")
    assert code_version() == f"{release}+uncommitted"
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    commit = git("rev-parse", "HEAD")
    assert len(commit) == 40
    assert code_version() == f"{release}+{commit}"
    (project / "new.py").write_text("")
    assert code_version() == f"{release}+{commit}"
    (project / FILES[0]).write_text("# changed\n")
    assert code_version() == f"{release}+{commit}.dirty"
