"""Any server that speaks the OpenAI chat API: OpenAI itself, vLLM, llama.cpp, `transformers serve`."""

from __future__ import annotations

import asyncio
import email.utils
import os
import random
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rltpf.errors import InputError
from rltpf.llm.limits import RateLimit, estimate
from rltpf.llm.model import Completion, ModelError, ModelUnavailable, Request
from rltpf.llm.settings import ModelConfig

if TYPE_CHECKING:
    from openai import APIStatusError

FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
LONGEST_RETRY_AFTER = 600.0
NOTICE_AFTER = 0.2
NOTICE_INTERVAL = 60.0
# llama.cpp answers a schema that it does not take with 500, which is also what a passing fault looks like.
REFUSALS = 3


class _SchemaRefused(Exception):
    """A request with a schema was refused, by a server that has not shown yet whether it takes one."""


@dataclass(frozen=True)
class _Fault:
    """A try that may go better next time; `outage` where it can be the server's fault alone and not the request's."""

    what: str
    outage: bool
    retry_after: float | None = None
    status: int | None = None
    timed_out: bool = False


class OpenAIModel:
    """A model behind an OpenAI-compatible server, asked with at most `max_concurrent` requests at once, as fast as
    `limit` lets them pass (None: one of its own, at the config's rates).

    Retries are ours and not the client's, so that Retry-After, cut replies and empty replies are all treated alike.
    """

    def __init__(self, config: ModelConfig, limit: RateLimit | None = None) -> None:
        from openai import AsyncOpenAI

        url = config.base_url or os.environ.get("OPENAI_BASE_URL")
        key = os.environ.get("OPENAI_API_KEY")
        if not key and not url:
            raise InputError(
                "llm: OPENAI_API_KEY is not set: set it, or point llm.base_url (or OPENAI_BASE_URL) at your own server"
            )
        self.name = config.model
        # Our own deadline covers the whole request; the client's would start again with every byte that arrives.
        try:
            self._client = AsyncOpenAI(base_url=url, api_key=key or "EMPTY", max_retries=0, timeout=None)
        # A SOCKS proxy in the environment needs a library more.
        except ImportError as error:
            raise InputError(f"llm: the proxy in the environment cannot be used: {error}") from None
        self._config = config
        self._slots = asyncio.Semaphore(config.max_concurrent)
        self._limit = limit or RateLimit(config.requests_per_minute, config.tokens_per_minute)
        self._schemas: bool | None = None
        """Whether the server takes `response_format`; None until it has shown it."""
        self._last_success = -1.0
        self._last_notice = -NOTICE_INTERVAL

    async def complete(self, request: Request) -> Completion:
        """The reply; raises `ModelError` after all retries, and `ModelUnavailable` where no request can succeed."""
        began = time.monotonic()
        tokens = estimate(request)
        faults: list[_Fault] = []
        for number in range(self._config.retries + 1):
            if faults:
                await asyncio.sleep(_wait(number, faults[-1].retry_after))
            refused = len(faults) >= REFUSALS and all(fault.status == 500 for fault in faults[-REFUSALS:])
            takes_schemas = not refused if self._schemas is None else self._schemas
            try:
                outcome = await self._try(request, tokens, with_schema=request.schema is not None and takes_schemas)
            except _SchemaRefused:
                # For its schema, or for something else: without the schema we shall see.
                outcome = await self._try(request, tokens, with_schema=False)
            if isinstance(outcome, Completion):
                if used := outcome.prompt_tokens + outcome.completion_tokens:
                    self._limit.correct(tokens, used)
                self._last_success = time.monotonic()
                return outcome
            faults.append(outcome)
            if number < self._config.retries and outcome.outage and self._last_success < began:
                self._notice(outcome, number, time.monotonic() - began)
        what = f"no reply from {self.name} at {self._client.base_url} after {len(faults)} tries: {faults[-1].what}"
        # One request may be at fault itself. But if nobody was answered since it began, nobody will be.
        if all(fault.outage for fault in faults) and self._last_success < began:
            raise ModelUnavailable(f"{what}; start the same command again when the server answers")
        raise ModelError(what)

    async def close(self) -> None:
        await self._client.close()

    def _notice(self, fault: _Fault, number: int, waited: float) -> None:
        """Say that nobody is answered and that the server is asked again, for how long; once a minute."""
        now = time.monotonic()
        # A server that is only busy has answered somebody else by then.
        if waited < NOTICE_AFTER or now - self._last_notice < NOTICE_INTERVAL:
            return
        self._last_notice = now
        left = range(number + 1, self._config.retries + 1)
        longest = sum(map(_backoff, left)) + len(left) * (self._config.timeout if fault.timed_out else 0)
        seconds = max(longest, min(fault.retry_after or 0, LONGEST_RETRY_AFTER))
        print(
            f"{self.name} at {self._client.base_url}: {fault.what}: trying again, {len(left)} times in about "
            f"{seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    async def _try(self, request: Request, tokens: int, with_schema: bool) -> Completion | _Fault:
        import openai

        await self._limit.acquire(tokens)
        try:
            async with self._slots, asyncio.timeout(self._config.timeout):
                completion = await self._send(request, with_schema)
        except TimeoutError:
            return _Fault(f"time-out after {self._config.timeout:g} s", outage=True, timed_out=True)
        except openai.APIConnectionError as error:
            return _Fault(f"connection failed ({error.__cause__ or error})", outage=True)
        except openai.APIStatusError as error:
            if isinstance(error, openai.BadRequestError) and with_schema and self._schemas is None:
                raise _SchemaRefused from None
            return self._judge(error)
        except (ValueError, openai.OpenAIError) as error:
            return _Fault(f"a reply that is no chat completion ({' '.join(str(error).split())[:200]})", outage=False)
        if not completion.text.strip():
            hint = ": raise llm.max_tokens" if completion.finish_reason == "length" else ""
            return _Fault(f"an empty reply (finish_reason {completion.finish_reason}){hint}", outage=False)
        if request.sampling.logprobs and completion.logprobs is None:
            # Servers that know no logprobs ignore that they are asked for: no other request would fare better.
            raise ModelUnavailable(f"{self._client.base_url} sends no logprobs for {self.name}: ask another server")
        if request.schema is not None:
            self._schemas = with_schema
        return completion

    async def _send(self, request: Request, with_schema: bool) -> Completion:
        sampling = request.sampling
        parameters: dict[str, Any] = {
            "model": self.name,
            "messages": [message.to_json() for message in request.messages],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
        }
        if sampling.seed is not None:
            parameters["seed"] = sampling.seed
        if sampling.logprobs:
            parameters["logprobs"] = True
        if with_schema:
            schema = {"name": "reply", "schema": request.schema, "strict": True}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        reply = await self._client.chat.completions.create(**parameters)
        # The client does not check what a server sends: whatever lacks a choice with a text is no completion.
        choices = getattr(reply, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise ValueError(f"{type(reply).__name__} without choices")
        if refusal := getattr(choices[0].message, "refusal", None):
            # A model that may not answer says so here, and not in the schema's terms.
            raise ModelError(f"{self.name} declines to answer: {' '.join(refusal.split())[:300]}")
        usage = getattr(reply, "usage", None)
        return Completion(
            text=choices[0].message.content or "",
            finish_reason=choices[0].finish_reason or "stop",
            prompt_tokens=usage.prompt_tokens if usage else 0,
            completion_tokens=usage.completion_tokens if usage else 0,
            logprobs=_logprobs(choices[0]) if sampling.logprobs else None,
        )

    def _judge(self, error: APIStatusError) -> _Fault:
        """A fault to try again after, or the error that ends the request or the run."""
        status, url = error.status_code, self._client.base_url
        # Some servers repeat the key that they refuse.
        said = " ".join(str(error.message).split()).replace(self._client.api_key, "***")[:300]
        if status in (401, 403):
            raise ModelUnavailable(f"{url} refuses the key in OPENAI_API_KEY ({said})")
        if status == 404:
            raise ModelUnavailable(f"{url} has no model {self.name} ({said}): check llm.model and llm.base_url")
        if status == 429 and error.code == "insufficient_quota":
            raise ModelUnavailable(f"{url}: the quota of the key in OPENAI_API_KEY is used up ({said})")
        if status < 500 and status not in (408, 409, 429):
            raise ModelError(f"{self.name} at {url} refuses the request: {said}")
        return _Fault(said, outage=status != 500, retry_after=_retry_after(error), status=status)


def _logprobs(choice: Any) -> tuple[tuple[str, float], ...] | None:
    """The tokens of a reply with their log-probabilities; None where the server sent none."""
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    tokens = tuple((token.token, token.logprob) for token in content or ())
    # vLLM names the token that ended the reply too, OpenAI does not.
    if "".join(token for token, _ in tokens[:-1]) == choice.message.content:
        tokens = tokens[:-1]
    return tokens or None


def _wait(number: int, retry_after: float | None) -> float:
    """Seconds before try `number`: doubled every time, jittered so that many requests do not return at once."""
    backoff = _backoff(number) * random.uniform(0.5, 1.5)
    return backoff if retry_after is None else max(backoff, min(retry_after, LONGEST_RETRY_AFTER))


def _backoff(number: int) -> float:
    """Seconds before try `number`, on average."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2 ** (number - 1))


def _retry_after(error: APIStatusError) -> float | None:
    """Seconds that the server asks to wait, given as seconds or as a date (RFC 9110, section 10.2.3)."""
    header = error.response.headers.get("retry-after")
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
