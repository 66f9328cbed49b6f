"""The completion client against a real HTTP server that works or fails in every way."""

import asyncio
import gzip
import json
import logging
import socket
import sys
import threading
import zlib

import pytest
from answering import cut, failure, reply, said, script, serving, silence, trickle

from memory_pipeline.llm import openai
from memory_pipeline.llm.openai import CompletionUnavailable, OpenAICompletionClient
from memory_pipeline.llm.protocol import Completion, Outcome, Prompt, estimated_tokens
from memory_pipeline.settings import LanguageModel

KEY = "sk-very-secret-0123456789"


def settings(server, **changed):
    known = {"llm_base_url": server if isinstance(server, str) else server.url, "llm_timeout_seconds": 5.0}
    return LanguageModel(**known | changed)


def completer(server, **changed):
    return OpenAICompletionClient(settings(server, **changed), environment={"OPENAI_API_KEY": KEY}, pause=0.001)


def prompts(*texts):
    return [Prompt("m", text, estimated_tokens(text)) for text in texts]


def ask(respond, *texts, **changed):
    """Ask a server; returns its answers and the server as it was left."""
    with serving(respond) as server:
        return completer(server, **changed).complete(prompts(*texts or ("Hello?",))), server


def outcome(respond, **changed):
    """The outcome of one request, and how often the server was asked."""
    (answer,), server = ask(respond, **changed)
    assert (answer.content is None) == (answer.outcome is not Outcome.ANSWERED)
    return answer.outcome, len(server.asked)


def test_completions_come_in_the_order_of_the_prompts():
    texts = [f"What is {number}?" for number in range(12)]
    answers, server = ask(lambda prompt, _: reply(said(prompt.upper())), *texts)
    assert [answer.content for answer in answers] == [text.upper() for text in texts]
    assert {answer.outcome for answer in answers} == {Outcome.ANSWERED}
    assert sorted(server.prompts) == sorted(texts)


def test_a_request_carries_model_key_and_token_limit():
    _, server = ask(script(reply()), llm_max_output_tokens=77)
    assert server.asked == [{"model": "m", "messages": [{"role": "user", "content": "Hello?"}], "max_tokens": 77}]
    assert server.keys == [f"Bearer {KEY}"]


def test_openai_gets_the_token_limit_by_its_newer_name(monkeypatch):
    with serving(script(reply())) as server:
        monkeypatch.setattr(openai, "OPENAI", server.url)
        completer(server, llm_max_output_tokens=77).complete(prompts("Hello?"))
    assert server.asked[0]["max_completion_tokens"] == 77
    assert "max_tokens" not in server.asked[0]


def test_no_prompts_make_no_requests():
    with serving(script(reply())) as server:
        assert completer(server).complete([]) == []
    assert server.asked == []


def test_usage_is_that_of_the_server_at_the_prices_of_the_settings():
    (answer,), _ = ask(script(reply(said(asked=2000, answered=100))), llm_price_input=3.0, llm_price_output=15.0)
    assert answer == Completion("Fine.", Outcome.ANSWERED, 2000, 100, pytest.approx(0.0075))


def test_usage_is_estimated_where_the_server_reports_none():
    for usage in (None, {"prompt_tokens": 10**20, "completion_tokens": -1}):
        (answer,), _ = ask(script(reply(said("word " * 30) | {"usage": usage})))
        assert (answer.input_tokens, answer.output_tokens) == (estimated_tokens("Hello?"), 50)


def test_requests_are_concurrent_up_to_the_limit():
    together = threading.Barrier(3)

    def respond(_, nth):
        if nth < 6:
            together.wait(5)  # broken, and so no answer, unless three are under way at once
        return reply()

    answers, server = ask(respond, *map(str, range(9)), llm_concurrency=3)
    assert {answer.outcome for answer in answers} == {Outcome.ANSWERED}
    assert server.most == 3


@pytest.mark.parametrize("behaviour", [silence, trickle])
def test_an_attempt_times_out_however_slowly_the_server_responds(behaviour):
    assert outcome(script(behaviour), llm_timeout_seconds=0.3, llm_retries=1) == (Outcome.TIMEOUT, 2)


def test_lost_attempts_count_as_charged():
    (answer,), _ = ask(
        script(silence, silence, reply(said(asked=20, answered=5))),
        llm_timeout_seconds=0.5,
        llm_max_output_tokens=100,
        llm_price_output=1e6,
    )
    lost = estimated_tokens("Hello?")
    assert answer == Completion("Fine.", Outcome.ANSWERED, 20 + 2 * lost, 205, pytest.approx(205.0))


@pytest.mark.parametrize(
    "trouble",
    [failure(429), failure(500), failure(503), failure(529), failure(408), failure(409), cut],
    ids=["429", "500", "503", "529", "408", "409", "cut off"],
)
def test_transient_failures_are_retried(trouble):
    assert outcome(script(trouble, trouble, reply())) == (Outcome.ANSWERED, 3)


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [(failure(500), Outcome.SERVER_ERROR), (failure(429), Outcome.RATE_LIMITED), (cut, Outcome.DISCONNECTED)],
    ids=["500", "429", "cut off"],
)
def test_lasting_failures_end_after_all_attempts(trouble, expected):
    assert outcome(script(trouble), llm_retries=3) == (expected, 4)


def test_a_requested_pause_is_honoured():
    found, server = ask(script(failure(429, retry_after="0.05"), failure(429, retry_after_ms="50"), reply()))
    assert found[0].outcome is Outcome.ANSWERED
    assert [later - earlier >= 0.05 for earlier, later in zip(server.times, server.times[1:], strict=False)] == [
        True,
        True,
    ]


@pytest.mark.parametrize(
    "said_so",
    [{"retry_after": 3600}, {"retry_after": "Fri, 31 Dec 2999 23:59:59 GMT"}, {"x_should_retry": "false"}],
    ids=["an hour", "a date", "a plain no"],
)
def test_a_server_that_forbids_retries_is_not_retried(said_so):
    assert outcome(script(failure(429, **said_so))) == (Outcome.RATE_LIMITED, 1)


@pytest.mark.parametrize("pause", ["soon", "-1", "Wed, 01 Jan 2020 00:00:00 GMT", ""])
def test_an_unreadable_pause_falls_back_to_the_usual_one(pause):
    assert outcome(script(failure(503, retry_after=pause), reply())) == (Outcome.ANSWERED, 2)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"id": "1", "choi', Outcome.INVALID_JSON),
        (b"", Outcome.INVALID_JSON),
        (b"<html>502</html>", Outcome.INVALID_JSON),
        (b'"just text"', Outcome.INVALID_JSON),
        pytest.param(b"[" * 100_000, Outcome.INVALID_JSON, id="deep"),
        ({"hello": "world"}, Outcome.INVALID_JSON),
        ([1, 2], Outcome.INVALID_JSON),
        (said() | {"choices": []}, Outcome.EMPTY),
        (said() | {"choices": None}, Outcome.INVALID_JSON),
        (said() | {"choices": said()["choices"] * 2}, Outcome.WRONG_COUNT),
        (said() | {"choices": [{"index": 0, "finish_reason": "stop"}]}, Outcome.EMPTY),
        (said(""), Outcome.EMPTY),
        (said(" \n"), Outcome.EMPTY),
        (said(None), Outcome.EMPTY),
        (said({"not": "text"}), Outcome.EMPTY),
        (said(None, refusal="I will not."), Outcome.REFUSED),
        (said("I wi", reason="content_filter"), Outcome.REFUSED),
        (said("In March the us", reason="length"), Outcome.CUT_OFF),
        (said("\ud800 Ana moved on 12 June."), Outcome.INVALID_JSON),
        (said("Ana moved\0on 12 June."), Outcome.INVALID_JSON),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_invalid_completions_have_a_reason_and_are_not_retried(body, expected):
    assert outcome(script(reply(body))) == (expected, 1)


def test_a_completion_of_another_type_is_invalid():
    assert outcome(script(reply(b"<html>Sign in</html>", kind="text/html"))) == (Outcome.INVALID_JSON, 1)


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_an_endless_answer_is_read_to_a_limit_only(status, packed):
    def endless(handler):
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        if packed:
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        packer, sent = zlib.compressobj(wbits=31), bytes(2**20)
        while True:
            handler.wfile.write(packer.compress(sent) if packed else sent)

    assert outcome(script(endless)) == (Outcome.CUT_OFF, 1)


def test_a_compressed_answer_is_read():
    assert outcome(script(reply(gzip.compress(json.dumps(said()).encode()), content_encoding="gzip"))) == (
        Outcome.ANSWERED,
        1,
    )


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_request_that_is_rejected_does_not_stop_the_others(status):
    respond = lambda prompt, _: failure(status) if prompt == "bad" else reply()  # noqa: E731
    answers, server = ask(respond, "bad", "good", "bad", "good")
    assert [answer.outcome for answer in answers] == [Outcome.REJECTED, Outcome.ANSWERED] * 2
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        (failure(401, "invalid_api_key"), Outcome.UNAUTHORISED),
        (failure(403), Outcome.UNAUTHORISED),
        (failure(402), Outcome.QUOTA),
        (failure(429, "insufficient_quota", retry_after="0.01"), Outcome.QUOTA),
    ],
    ids=["401", "403", "402", "quota"],
)
def test_a_permanently_refusing_server_gets_one_request_per_run(trouble, expected):
    with serving(script(trouble)) as server:
        one = completer(server, llm_concurrency=1)
        assert [answer.outcome for answer in one.complete(prompts("a", "b", "c"))] == [expected] * 3
        assert [answer.outcome for answer in one.complete(prompts("d"))] == [expected]
        assert len(server.asked) == 1


def test_a_server_that_is_down_is_given_up_after_five_requests():
    answers, server = ask(script(failure(500)), *"abcdefgh", llm_concurrency=1, llm_retries=1)
    assert {answer.outcome for answer in answers} == {Outcome.SERVER_ERROR}
    assert len(server.asked) == 5 * 2


def test_one_completion_resets_the_count_of_failures():
    respond = lambda prompt, _: reply() if prompt == "e" else failure(500)  # noqa: E731
    _, server = ask(respond, *"abcdefgh", llm_concurrency=1, llm_retries=0)
    assert len(server.asked) == 8


def test_a_closed_port_is_a_disconnection():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        (answer,) = completer(url, llm_retries=1).complete(prompts("Hello?"))
    assert answer.outcome is Outcome.DISCONNECTED


def test_openai_is_not_asked_without_a_key():
    found = OpenAICompletionClient(LanguageModel(), environment={}).complete(prompts("Hello?"))
    assert found == [Completion(None, Outcome.UNAUTHORISED)]


def test_other_servers_need_no_key():
    with serving(script(reply())) as server:
        (answer,) = OpenAICompletionClient(settings(server), environment={}).complete(prompts("Hello?"))
    assert answer.outcome is Outcome.ANSWERED


@pytest.mark.parametrize(("key", "sent"), [("sk-1\n", "Bearer sk-1"), (" \n", "Bearer none")])
def test_whitespace_around_a_key_is_stripped(key, sent):
    with serving(script(reply())) as server:
        OpenAICompletionClient(settings(server), environment={"OPENAI_API_KEY": key}).complete(prompts("Hello?"))
    assert server.keys == [sent]


@pytest.mark.parametrize("key", ["sk-\u2013", "sk-1\nX-Header: x"])
def test_a_key_that_is_invalid_in_a_header_is_not_sent(key):
    with serving(script(reply())) as server:
        (answer,) = OpenAICompletionClient(settings(server), environment={"OPENAI_API_KEY": key}).complete(
            prompts("Hello?")
        )
    assert answer.outcome is Outcome.UNAUTHORISED
    assert server.asked == []


def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-outside")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    with serving(script(reply())) as server:
        OpenAICompletionClient(settings(server)).complete(prompts("Hello?"))
    assert server.keys == ["Bearer sk-from-outside"]


def test_neither_keys_prompts_nor_error_messages_are_logged_or_stored(caplog):
    caplog.set_level(logging.DEBUG)
    for trouble in (failure(401, message=f"Incorrect API key provided: {KEY}"), failure(500), cut, reply()):
        with serving(script(trouble)) as server:
            one = completer(server, llm_retries=1)
            answers = one.complete(prompts("Anna's secret"))
        assert KEY not in repr(answers) + repr(one) + caplog.text
        assert "secret" not in caplog.text


def test_the_client_works_within_a_running_event_loop():
    async def inside(server):
        return completer(server).complete(prompts("Hello?"))

    with serving(script(reply())) as server:
        assert asyncio.run(inside(server))[0].outcome is Outcome.ANSWERED


def test_without_the_package_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(CompletionUnavailable, match=r"pip install 'openai.*'.*unset llm_model"):
        OpenAICompletionClient(LanguageModel()).complete(prompts("Hello?"))


@pytest.mark.parametrize(("text", "expected"), [("", 16), ("abc", 17), ("abcd", 18), ("日本", 18), ("\ud800", 17)])
def test_token_estimates_err_on_the_high_side(text, expected):
    assert estimated_tokens(text) == expected
