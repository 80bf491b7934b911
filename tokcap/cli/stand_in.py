"""`tokcap-bash` and `tokcap-zsh`: programs that are called as a shell, and run the real one in their place.

To their caller they are that shell: the same arguments, bytes, exit status and signals, and background
processes that can write later. Only output over the limit is cut. See tokcap-bash(1).
"""

from __future__ import annotations

import gc
import os

from tokcap.__main__ import call
from tokcap.cli.arguments import decide, run_request
from tokcap.cli.shell_entry import become, is_interactive
from tokcap.cli.shell_flags import read_words
from tokcap.environment import INSIDE, PROGRAM, STDERR, STDOUT, Environment, Frame, Inside, ShellReader
from tokcap.errors import TokcapError, UsageError
from tokcap.exits import READER_GONE, SIGNAL_BASE
from tokcap.startup.accelerators import signal
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.shell import Shell, find_shell, found_in, found_on, note_becoming, own_program
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping, Sequence
    from typing import NoReturn

    from tokcap.cli.pipelines import Pipelines
    from tokcap.core.payload import Source, Spool
    from tokcap.core.request import Request, Value
    from tokcap.core.response import Notice
    from tokcap.pipeline import Done
    from tokcap.source.command import Command
    from tokcap.steps.opening import Call

# The first of four words that the start-up file for BASH_ENV puts before the arguments of the shell. The
# others are the file of the shell, its `$0` and its `$_` (see `hooks.own_files.bash_env`).
CALLED_AS = "--tokcap-as"
CALLED_AS_WORDS = 4

# How commands in this shell can call tokcap, if an agent changes PATH for them later.
OWN_PROGRAM = "TOKCAP_PROGRAM"

# The command whose output the shell passes on, if it runs another one.
RULES_SEE = "TOKCAP_COMMAND"

# The name of the variable that has the session of the agent, whose commands are charged to it.
SESSION_FROM = "TOKCAP_SESSION_FROM"

# The name of the variable that has the total of that session.
SESSION_TOTAL = "TOKCAP_SESSION_TOTAL"

# What a login shell has on its PATH at least. What else it has depends on files that it reads later.
LOGIN_DIRECTORIES = ("/usr/local/bin", "/usr/bin", "/bin")

# Without one of these, a string has no pipeline, and reads no file that may have one.
PIPE_OR_SOURCE = ("|", ". ", "source ")

# These write a core file, and the shell has written its own.
DUMPING = (
    *(signal.SIGQUIT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE),
    *(signal.SIGSEGV, signal.SIGSYS, signal.SIGXCPU, signal.SIGXFSZ),
)


def stand_in(name: str, words: Sequence[str]) -> NoReturn:
    """Run the real shell of this name with these arguments, and end as it ends."""
    gc.set_threshold(100_000)
    env = Environment.of_this_process().framed()
    if env.variables.get(SESSION_FROM):
        join_session(os.environ)
    try:
        shell, words = called_as(name, words, env)
        becomes = is_interactive(words) or bool(env.variables.get(INSIDE)) or goes_nowhere()
        if becomes:
            note_becoming(os.environ)
    except TokcapError as error:
        env.tell(str(error))
        os._exit(error.exit_status)
    if becomes:
        os._exit(become(shell, words, env))
    standing = StandingIn(shell, words)
    status = call(
        ["--", shell.name, *words],
        env.replace(reader=ShellReader(program_for(words, env))),
        lambda _, env: standing.read(env),
        standing.run,
    )
    standing.hand_over(env)
    if standing.signal or status == READER_GONE:
        die_of(standing.signal or signal.SIGPIPE)
    os._exit(status)


def called_as(name: str, words: Sequence[str], env: Environment) -> tuple[Shell, Sequence[str]]:
    """Return the real shell and its arguments. If the start-up file is the caller, it names the shell."""
    if words[:1] != [CALLED_AS] or len(words) < CALLED_AS_WORDS:
        return find_shell(name, env.variables), words
    _, path, own_name, last = words[:CALLED_AS_WORDS]
    # The call of this program has changed it.
    os.environ["_"] = last
    if os.path.basename(path) != name:
        # bash was called under another name, and does not know its own file.
        path = find_shell(name, env.variables).path
    return Shell(path, own_name), words[CALLED_AS_WORDS:]


def join_session(variables: MutableMapping[str, str]) -> None:
    """Make the session of the agent that of tokcap, for this call and for what runs in the shell."""
    if named := variables.get(variables[SESSION_FROM]):
        variables["TOKCAP_SESSION"] = named


def goes_nowhere() -> bool:
    """Return whether nobody reads what the shell writes."""
    try:
        nowhere = os.stat(os.devnull)
        return all(os.path.samestat(os.fstat(descriptor), nowhere) for descriptor in (STDOUT, STDERR))
    except OSError:
        return False


def program_for(words: Sequence[str], env: Environment, path: str = "") -> str:
    """Return how a command in this shell can call tokcap: by its name, or by its path if that may fail."""
    named = env.variables.get(OWN_PROGRAM)
    if named and named != PROGRAM:
        return named
    is_login = read_words(words).is_login
    found = found_in(LOGIN_DIRECTORIES, PROGRAM) if is_login else found_on(env.variables.get("PATH"), PROGRAM)
    if any(found) and not named:
        return PROGRAM
    return path or own_program(PROGRAM, env.variables) or PROGRAM


class StandingIn:
    """One call of a shell."""

    def __init__(self, shell: Shell, words: Sequence[str]) -> None:
        self._shell = shell
        self._words = words
        self._command: Command | None = None
        self._request: Request | None = None
        self._done: Done | None = None
        self._pipelines: Pipelines | None = None

    def read(self, env: Environment) -> Request:
        """Return the request that runs the shell."""
        usual: dict[str, Value] = {"stderr": "merge"} if writes_one_file(env) else {}
        self._request = request_for((self._shell.name, *self._words), env, usual)
        return self._request

    def run(self, request: Request, env: Environment) -> int:
        """Run the shell and answer."""
        if request.stderr == "merge":
            # Some agents show one stream only, so tokcap's own words belong to it too.
            env = env.replace(stderr=env.stdout)
        self._done = run_tolerantly(with_total(request, env), env, self._open, self._notices)
        status = self._done.status
        if env.frame and env.frame.tells_status and status:
            env.write_stdout(b"[exit status %d]\n" % status)
        return status

    def _watch_pipelines(self, request: Request, env: Environment) -> Pipelines | None:
        words = read_words(self._words)
        string = "".join(self._words[words.position : words.position + 1]) if "c" in words.letters else "|"
        # Most strings have no pipeline, and nothing is loaded for them.
        if not request.pipes or not any(word in string for word in PIPE_OR_SOURCE):
            return None
        from tokcap.cli.pipelines import watch_pipelines

        return watch_pipelines(self._shell, self._words, request, env)

    def _open(self, request: Request, env: Environment) -> Command:
        from tokcap.source.command import StandIn
        from tokcap.steps.opening import open_command

        assert isinstance(env.reader, ShellReader)
        self._request = request
        self._pipelines = self._watch_pipelines(request, env)
        inside = Inside(request.token_limit or 0, program=env.reader.program)
        shell = StandIn(self._shell.path, inside)
        if self._pipelines:
            shell = shell.replace(variables=self._pipelines.variables, pipes=self._pipelines.pipes)
        self._command = open_command(request, env, shell)
        return self._command

    def _notices(self, call: Call, out: Spool | None) -> tuple[Notice, ...]:
        """Return what is to be said about pipelines of the shell."""
        return self._pipelines.stages.notices(call, out) if self._pipelines else ()

    @property
    def signal(self) -> int:
        """The signal that ended the shell; 0 if it ended otherwise."""
        number = self._done.response.meta.signal if self._done else None
        return number if number and self._done and self._done.status == SIGNAL_BASE + number else 0

    def hand_over(self, env: Environment) -> None:
        """Leave a process that passes on what background processes write later, if there are any."""
        pipes = self._pipelines.pipes if self._pipelines else None
        if self._command and self._request and (self._command.left_over or (pipes and pipes.descriptors)):
            from tokcap.cli.relay import leave_relay

            leave_relay(self._command.left_over, self._request, self._done, env, pipes)
        if self._pipelines:
            self._pipelines.stages.close()


def request_for(command: tuple[str, ...], env: Environment, usual: Mapping[str, Value]) -> Request:
    """Return what applies to an output that an agent passes to its model. A bad setting is left out."""
    frame = env.frame or Frame()
    usual = {**frame.usual(), **usual}
    ignored: tuple[Notice, ...] = ()
    line = env.variables.get(RULES_SEE)
    subject = ("sh", "-c", line) if line else command
    try:
        values = decide((), "run", env, usual, subject)
    except UsageError:
        from tokcap.cli.tolerance import decide_what_works

        values, ignored = decide_what_works(env, usual, subject)
    request = run_request(command, values).replace(as_shell=True, notices=ignored)
    if not request.token_limit:
        return request
    if_cut = frame.left_of(request.limit_if_cut) if request.limit_if_cut else None
    return request.replace(token_limit=frame.left_of(request.token_limit), limit_if_cut=if_cut)


def with_total(request: Request, env: Environment) -> Request:
    """Return the request as the total of the agent's session changes it, if there is one."""
    if not (request.session and env.variables.get(SESSION_TOTAL)):
        return request
    from tokcap.hooks.agent_session import accounted

    try:
        return accounted(request, env)
    except TokcapError:
        # The run reports what is wrong with the ledger.
        return request


def run_tolerantly(
    request: Request,
    env: Environment,
    open_source: Callable[[Request, Environment], Source],
    more_notices: Callable[[Call, Spool | None], tuple[Notice, ...]] | None = None,
) -> Done:
    """Run a request; if its settings make that impossible, run it without them."""
    from tokcap.pipeline import run

    opened = []

    def open_once(request: Request, env: Environment) -> Source:
        opened.append(source := open_source(request, env))
        return source

    try:
        if request.session:
            # A session would pay for the refusal, and nothing would run.
            open_tokenizer(request.tokenizer)
        return run(request, env, open_once, more_notices)
    except TokcapError as error:
        from tokcap.cli.tolerance import without_what_failed

        workable = None if opened else without_what_failed(request, error, env)
        if workable is None:
            raise
    return run_tolerantly(workable, env, open_source, more_notices)


def writes_one_file(env: Environment) -> bool:
    """Return whether both streams are the same file: then the order between them is part of the output."""
    if env.closed.intersection((STDOUT, STDERR)):
        return False
    return os.path.samestat(os.fstat(env.stdout), os.fstat(env.stderr))


def die_of(number: int) -> NoReturn:
    """End as the shell has ended, so that the caller sees the same signal."""
    if number in DUMPING:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        signal.signal(number, signal.SIG_DFL)
    except (OSError, ValueError):
        # SIGKILL, which needs no handling, or a signal that Python does not know.
        pass
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (number,))
    os.kill(os.getpid(), number)
    os._exit(SIGNAL_BASE + number)
