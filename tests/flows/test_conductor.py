"""What a refresh may rely on, whoever conducts it: with Prefect or with plain threads."""

import threading

import pytest

from support.conducting import Flaky, Lasting, Passing, Told, lane_of, plainly, with_prefect


@pytest.fixture(params=["plainly", pytest.param("with Prefect", marks=pytest.mark.prefect)])
def conducted(request, waits):
    if request.param == "plainly":
        return plainly(waits)
    request.getfixturevalue("prefect_api")
    return with_prefect()


def test_outcomes_are_in_the_order_of_the_items_whoever_is_done_first(conducted):
    second_is_done = threading.Event()

    def fetch(item):
        if item == "second":
            second_is_done.set()
        assert second_is_done.wait(60)
        return item

    lane = lane_of(fetch, lambda fetched: f"{fetched}!")
    outcomes = conducted(lambda c: c.fan_out("items", lane, ["first", "second"]))
    assert [(o.item, o.result, o.error) for o in outcomes] == [
        ("first", "first!", None),
        ("second", "second!", None),
    ]


def test_no_items_are_no_outcomes(conducted):
    assert conducted(lambda c: c.fan_out("items", lane_of(Flaky()), [])) == []


def test_one_items_failure_leaves_the_others_alone(conducted):
    fetch = Flaky(b=[Lasting("b is gone")])

    def then(fetched):
        if fetched == "C":
            raise Passing("c cannot be read")
        return fetched

    outcomes = conducted(lambda c: c.fan_out("items", lane_of(fetch, then), ["a", "b", "c", "d"]))
    assert [(o.item, o.result) for o in outcomes] == [
        ("a", "A"),
        ("b", None),
        ("c", None),
        ("d", "D"),
    ]
    assert [type(o.error) for o in outcomes] == [type(None), Lasting, Passing, type(None)]
    assert str(outcomes[1].error) == "b is gone"
    assert str(outcomes[2].error) == "c cannot be read"


def test_a_fetch_is_tried_again_on_the_named_errors_until_it_succeeds(conducted):
    fetch = Flaky(a=[Passing(), Passing()])
    (outcome,) = conducted(lambda c: c.fan_out("items", lane_of(fetch, attempts=3), ["a"]))
    assert (outcome.result, fetch.calls["a"]) == ("A", 3)


def test_the_last_error_stays_where_the_attempts_are_used_up(conducted):
    fetch = Flaky(a=[Passing("one"), Passing("two"), Passing("three")])
    (outcome,) = conducted(lambda c: c.fan_out("items", lane_of(fetch, attempts=2), ["a"]))
    assert (str(outcome.error), fetch.calls["a"]) == ("two", 2)


def test_other_errors_are_final_at_once(conducted):
    fetch = Flaky(a=[Lasting("final")], b=[Passing(), Lasting("final after all")])
    outcomes = conducted(lambda c: c.fan_out("items", lane_of(fetch, attempts=5), ["a", "b"]))
    assert [str(o.error) for o in outcomes] == ["final", "final after all"]
    assert fetch.calls == {"a": 1, "b": 2}


def test_only_the_fetch_is_tried_again_and_not_what_follows(conducted):
    then = Flaky(A=[Passing("cannot be read")])
    fetch = Flaky()
    (outcome,) = conducted(lambda c: c.fan_out("items", lane_of(fetch, then, attempts=3), ["a"]))
    assert str(outcome.error) == "cannot be read"
    assert (fetch.calls["a"], then.calls["A"]) == (1, 1)


def test_no_more_items_than_workers_are_in_hand_at_once(conducted):
    at_work, most = 0, 0
    lock = threading.Lock()
    both = threading.Barrier(2)

    def fetch(item):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        both.wait(60)
        with lock:
            at_work -= 1
        return item

    outcomes = conducted(lambda c: c.fan_out("items", lane_of(fetch), list("abcdef")), workers=2)
    assert [o.result for o in outcomes] == list("abcdef")
    assert most == 2


def test_progress_is_told_of_every_item_well_or_not(conducted):
    told = Told()
    fetch = Flaky(b=[Lasting()])
    conducted(lambda c: c.fan_out("items", lane_of(fetch), ["a", "b", "c"]), told=told)
    assert told.stages == [("begin", "items", 3), ("done", "items", 3)]


def test_a_stage_gives_its_result_and_is_one_item_of_progress(conducted):
    told = Told()
    assert conducted(lambda c: c.stage("assembly", lambda: {"rows": 3}), told=told) == {"rows": 3}
    assert told.stages == [("begin", "assembly", 1), ("done", "assembly", 0)]


def test_a_stage_that_fails_ends_the_refresh_with_its_own_error(conducted):
    def fails():
        raise Lasting("no way on")

    with pytest.raises(Lasting, match="no way on"):
        conducted(lambda c: c.stage("assembly", fails))


def test_a_subflow_gives_its_result_or_raises_its_error(conducted):
    def fails():
        raise Lasting("no way on")

    assert conducted(lambda c: c.subflow("extract", lambda: ("aws", 36))) == ("aws", 36)
    with pytest.raises(Lasting, match="no way on"):
        conducted(lambda c: c.subflow("extract", fails))


def test_between_attempts_the_delay_is_waited(waits):
    fetch = Flaky(a=[Passing(), Passing()], b=[Lasting()])
    lane = lane_of(fetch, attempts=4, delay_seconds=2.5)
    plainly(waits)(lambda c: c.fan_out("items", lane, ["a", "b"]))
    assert waits == [2.5, 2.5]


def test_what_is_known_already_is_not_computed_again(conducted):
    def then(fetched):
        raise AssertionError(f"{fetched} was computed")

    lane = lane_of(lambda item: item.upper(), then, known=lambda fetched: f"{fetched}, as before")
    (outcome,) = conducted(lambda c: c.fan_out("items", lane, ["a"]))
    assert (outcome.fetched, outcome.result, outcome.error) == ("A", "A, as before", None)


def test_what_cannot_be_looked_up_fails_one_item_alone(conducted):
    def known(fetched):
        raise Lasting(fetched)

    lane = lane_of(lambda item: item, known=known)
    (outcome,) = conducted(lambda c: c.fan_out("items", lane, ["a"]))
    assert (outcome.fetched, outcome.result) == ("a", None)
    assert isinstance(outcome.error, Lasting)
