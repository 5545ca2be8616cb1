"""What people see: progress on a terminal, silence where nobody looks, and errors of the system."""

from __future__ import annotations

import errno
import io
import signal
import sys
import time
from types import FrameType

import numba
import numpy as np
import pytest
from rich.console import Console

from hedgerow.algorithms import RoundReport
from hedgerow.cli.console import Output, expected_rounds, quiet_interrupts, showing_progress, showing_records
from hedgerow.cli.spending import spent_sentence
from tests.cli.conftest import Place


def terminal() -> tuple[Output, io.StringIO]:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, highlight=False, _environ={"TERM": "xterm"})
    return Output(err=console), stream


def test_progress_shows_rounds_spending_and_what_was_chosen() -> None:
    output, stream = terminal()
    with showing_progress(output) as advance:
        assert advance is not None
        advance(RoundReport(3, 10, 0.25, 1.0, "epsilon", "sex * [bold]age[/]", 12.0))
        advance(RoundReport(4, None, 0.5, 1.0, "epsilon", "race", 12.0))
    shown = stream.getvalue()
    assert "0.5 of 1 epsilon" in shown
    assert "race" in shown


@pytest.mark.parametrize(
    ("number", "rounds", "spent", "expected"),
    [(3, 10, 0.25, 10), (4, None, 0.5, 8), (4, None, 1.0, 4), (2, None, 0.0, 2), (7, None, 0.99, 7)],
)
def test_rounds_that_adapt_are_expected_to_spend_as_before(
    number: int, rounds: int | None, spent: float, expected: int
) -> None:
    assert expected_rounds(RoundReport(number, rounds, spent, 1.0, "epsilon", "sex", 1.0)) == expected


def test_progress_says_that_the_last_fit_goes_on() -> None:
    output, stream = terminal()
    with showing_progress(output) as advance:
        assert advance is not None
        advance(RoundReport(10, 10, 0.75, 1.0, "epsilon", "job", 12.0))
    assert "last fit" in stream.getvalue()


def test_progress_is_a_plain_line_elsewhere_and_nothing_if_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet, expected in ((False, "running\nreading\n"), (True, "")):
        output = Output(quiet=quiet)
        with showing_progress(output) as advance:
            assert advance is None
        with output.busy("reading"):
            pass
        assert capsys.readouterr().err == expected


def test_progress_of_records(capsys: pytest.CaptureFixture[str]) -> None:
    output, stream = terminal()
    with showing_records(output) as advance:
        assert advance is not None
        advance(131_072, 20_000_000)
    assert "131072/20000000" in stream.getvalue()
    with showing_records(Output()) as advance:
        assert advance is None
    assert capsys.readouterr().err == "drawing records\n"


def test_a_terminal_breaks_sentences_between_words() -> None:
    for is_terminal, lines in ((True, ["a long", "[word]"]), (False, ["a long [word]"])):
        stream = io.StringIO()
        out = Console(file=stream, force_terminal=is_terminal, width=8, soft_wrap=True, highlight=False)
        Output(out=out).tell("a long [word]")
        assert [line.strip() for line in stream.getvalue().splitlines()] == lines
        Output(quiet=True, out=out).tell("more")
        assert "more" not in stream.getvalue()


def test_busy_shows_a_status_on_a_terminal() -> None:
    output, stream = terminal()
    with output.busy("reading [red]x"):
        pass
    assert "reading [red]x" in stream.getvalue()


def test_results_and_remarks_are_never_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.say("[bold]a[/] [red]")
    output.note("[bold]b[/]")
    captured = capsys.readouterr()
    assert captured.out == "[bold]a[/] [red]\n"
    assert captured.err == "[bold]b[/]\n"


def test_errors_of_the_system_are_explained(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(place / "out.csv"))

    monkeypatch.setattr("hedgerow.release.records.write_batches", fail)
    result = place.synth()
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr
    assert "the release is complete" in result.stderr
    assert "Traceback" not in result.output


def test_a_bug_is_not_hidden(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("hedgerow.release.records.write_batches", fail)
    result = place.synth()
    assert isinstance(result.exception, ZeroDivisionError)
    assert "the release is complete" in result.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_interrupts_are_raised_once_and_silence_finalizers(sent: signal.Signals) -> None:
    before, hook = signal.getsignal(sent), sys.unraisablehook
    with quiet_interrupts():
        pass
    assert sys.unraisablehook is hook
    try:
        with pytest.raises(KeyboardInterrupt), quiet_interrupts():
            signal.raise_signal(sent)
        assert signal.getsignal(sent) == before
        assert sys.unraisablehook is not hook
    finally:
        sys.unraisablehook = hook


def test_an_interrupt_that_falls_into_a_finalizer_is_not_lost() -> None:
    class Falls:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.001)

    def fall_and_wait() -> None:
        Falls()
        time.sleep(10)

    hook = sys.unraisablehook
    try:
        with pytest.raises(KeyboardInterrupt), quiet_interrupts():
            fall_and_wait()
    finally:
        sys.unraisablehook = hook


def test_an_interrupt_that_falls_into_compiled_code_waits_until_that_is_over() -> None:
    two = numba.njit(lambda values: (values + 1, values + 2))
    two(np.zeros(3))
    handed_on = []

    def fall(frame: FrameType, _event: str, _argument: object) -> None:
        if frame.f_code.co_name == "_numba_unpickle":
            sys.setprofile(None)
            signal.raise_signal(signal.SIGINT)

    def fall_and_wait() -> None:
        sys.setprofile(fall)
        handed_on.extend(two(np.zeros(3)))
        time.sleep(10)

    hook = sys.unraisablehook
    try:
        with pytest.raises(KeyboardInterrupt), quiet_interrupts():
            fall_and_wait()
    finally:
        sys.setprofile(None)
        sys.unraisablehook = hook
    assert [values.tolist() for values in handed_on] == [[1.0] * 3, [2.0] * 3]


def test_what_was_spent_is_said() -> None:
    assert "0.5 of 1 rho" in spent_sentence(0.5, 1.0, "rho")
    assert spent_sentence(0.0, 1.0, "rho").startswith("nothing")
