"""What hostile scripts try, as data: each attack with every mechanism that stops it alone, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.sandbox import Mechanism, Tier, landlock
from app.sandbox.tier import FileAccess

SECCOMP, LANDLOCK, ROOT = Mechanism.SECCOMP, Mechanism.LANDLOCK, Mechanism.PRIVATE_ROOT
PROCESSES, NETWORK = Mechanism.PROCESSES, Mechanism.NETWORK
USERS, USER_ID = Mechanism.USERS, Mechanism.USER_ID

KILLED = "SIGSYS"


@dataclass(frozen=True)
class Attack:
    """A script that reaches its end, with ``reached``, only where nothing stops it.

    Without any mechanism it must get there: that is its positive control.  It knows of a file (``secret``) and a
    directory (``outside``) that everybody may read and write, a ``program``, the process ids of the ``server`` and of a
    ``victim``, which runs under the user of the server and lets itself be debugged, the address of something in the
    victim's memory, and two sockets on which somebody listens (``port`` and ``abstract``).
    """

    name: str
    script: str
    stopped: Mapping[Mechanism, str] = field(default_factory=dict)
    """Mechanism -> errno or signal that the attack meets where it is the only one."""
    host_may_refuse: bool = False
    """Some hosts refuse it to every process: then there is nothing to control it with."""

    def stopped_by(self, tier: Tier) -> set[str]:
        """What the attack may meet in a tier; nothing where no mechanism of it stops the attack.

        The filter of system calls refuses to look at files only where no other mechanism knows paths.
        """
        return {
            answer
            for mechanism, answer in self.stopped.items()
            if mechanism in tier.mechanisms
            and not (mechanism is SECCOMP and answer == "EACCES" and tier.files is not FileAccess.NONE)
        }


_NEWEST_LANDLOCK = landlock.abi()
TCP_BY_LANDLOCK = {LANDLOCK: "EACCES"} if _NEWEST_LANDLOCK >= 4 else {}
SCOPED_BY_LANDLOCK = {LANDLOCK: "EPERM"} if _NEWEST_LANDLOCK >= 6 else {}

FILES = (
    Attack(
        "read the password file",
        "result = len(open('/etc/passwd').read())",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "read the database",
        "assert open(secret).read() == 'treasure'",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "read the database through a path from the working directory",
        "import os; assert open('../' * 20 + secret).read() == 'treasure'",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack("see whether the database exists", "import os; os.stat(secret)", {SECCOMP: "EACCES", ROOT: "ENOENT"}),
    Attack("list the directory of all", "import os; os.listdir('/')", {SECCOMP: "EACCES", LANDLOCK: "EACCES"}),
    Attack(
        "read its own memory map",
        "open('/proc/self/maps').close()",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "list processes",
        "import os; assert any(name.isdigit() for name in os.listdir('/proc'))",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES"},
    ),
    Attack(
        "read the command line of its parent",
        "open(f'/proc/{server}/cmdline', 'rb').read()",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "write where everybody may",
        "open(outside + '/mark', 'w').close()",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "overwrite the database", "open(secret, 'r+').close()", {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"}
    ),
    Attack(
        "symbolic link to the database",
        "import os; os.symlink(secret, 'link'); open('link').read()",
        {SECCOMP: "EPERM", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "hard link to the database",
        "import os; os.link(secret, 'link'); open('link').read()",
        {SECCOMP: "EPERM", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack("named pipe", "import os; os.mkfifo('pipe')", {SECCOMP: "EPERM", LANDLOCK: "EACCES"}),
    Attack(
        "remove what everybody may",
        "import os; os.rmdir(outside + '/doomed')",
        {SECCOMP: "EPERM", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "shared memory under a name",
        "import os; os.close(os.open('/dev/shm/strata-attack', os.O_CREAT | os.O_RDWR)); "
        "os.unlink('/dev/shm/strata-attack')",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
)

NETWORKING = (
    Attack(
        "connect to a service of this machine",
        "import socket; s = socket.socket(); s.settimeout(5); s.connect(('127.0.0.1', port))",
        {SECCOMP: "EPERM", NETWORK: "ENETUNREACH", **TCP_BY_LANDLOCK},
    ),
    Attack(
        "listen for connections",
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()",
        {SECCOMP: "EPERM", **TCP_BY_LANDLOCK},
    ),
    Attack(
        "send a datagram",
        "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', port))",
        {SECCOMP: "EPERM", NETWORK: "ENETUNREACH"},
    ),
    Attack(
        "connect to an abstract socket",
        "import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + abstract)",
        {SECCOMP: "EPERM", NETWORK: "ECONNREFUSED", **SCOPED_BY_LANDLOCK},
    ),
    Attack("open a socket pair", "import socket; socket.socketpair()", {SECCOMP: "EPERM"}),
    Attack("ask the kernel about routes", "import socket; socket.socket(socket.AF_NETLINK, 3, 0)", {SECCOMP: "EPERM"}),
)

PROCESS_CONTROL = (
    Attack("fork", "import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)", {SECCOMP: "EPERM"}),
    Attack(
        "run a program",
        "import os\npid = os.posix_spawn(program, [program, '-V'], {})\nassert os.waitpid(pid, 0)[1] == 0",
        {SECCOMP: "EPERM", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "become a program",
        "import os; os.execv(program, [program, '-c', 'import os; os.write(3, bytes([7,0,0,0])+b\"reached\")'])",
        {SECCOMP: "EPERM", LANDLOCK: "EACCES", ROOT: "ENOENT"},
    ),
    Attack(
        "signal the server",
        "import os; os.kill(server, 0)",
        {SECCOMP: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM", **SCOPED_BY_LANDLOCK},
    ),
    Attack(
        "signal a thread of the server",
        "call('tgkill', server, server, 0)",
        {SECCOMP: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM", **SCOPED_BY_LANDLOCK},
    ),
    Attack("signal everybody", "import os; os.kill(-1, 0)", {SECCOMP: "EPERM", PROCESSES: "ESRCH"}),
    Attack("hold on to the server", "import os; os.pidfd_open(server)", {SECCOMP: "EPERM", PROCESSES: "ESRCH"}),
    Attack("slow the server down", "import os; os.getpriority(0, server)", {SECCOMP: "EPERM", PROCESSES: "ESRCH"}),
    Attack(
        "raise its own limits",
        "import ctypes; limit = ctypes.create_string_buffer(16); call('prlimit64', 0, 7, None, limit); "
        "call('prlimit64', 0, 7, limit, None)",
        {SECCOMP: "EPERM"},
    ),
    Attack("take every CPU", "import os; os.sched_setaffinity(0, os.sched_getaffinity(0))", {SECCOMP: "EPERM"}),
    Attack("go before others", "import os; os.nice(1)", {SECCOMP: "EPERM"}),
    Attack("outlive the server", "call('prctl', 1, 0, 0, 0, 0)", {SECCOMP: "EPERM"}),
    Attack("become readable for debuggers", "call('prctl', 4, 1, 0, 0, 0)", {SECCOMP: "EPERM"}),
    Attack("change user", "import os; os.setuid(os.getuid())", {SECCOMP: "EPERM"}),
    Attack("switch off address randomisation", "call('personality', 0x40000)", {SECCOMP: "EPERM"}),
    Attack("run a program out of memory", "import os; os.memfd_create('x')", {SECCOMP: "EPERM"}),
    Attack("aim signals at others", "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETOWN, 0)", {SECCOMP: "EPERM"}),
    Attack("look at its own filter", "call('prctl', 21, 0, 0, 0, 0)", {SECCOMP: "EPERM"}),
    Attack(
        "a new process in the guise of a thread",
        "import os\npid = call('clone', 17, 0, 0, 0, 0)\nif not pid: os._exit(0)\nos.waitpid(pid, 0)",
        {SECCOMP: "EPERM"},
    ),
)

OTHERS = (
    Attack(
        "read the environment of another process",
        "assert b'SECRET=treasure' in open(f'/proc/{victim}/environ', 'rb').read()",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT", USER_ID: "EACCES", USERS: "EACCES"},
    ),
    Attack(
        "read the memory of another process",
        "file = open(f'/proc/{victim}/mem', 'rb'); file.seek(address); assert file.read(8) == b'treasure'",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT", USER_ID: "EACCES", USERS: "EACCES"},
        host_may_refuse=True,
    ),
    Attack(
        "copy the memory of another process",
        "import ctypes, struct\nhere = ctypes.create_string_buffer(8)\n"
        "ours = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(here), 8), 16)\n"
        "theirs = ctypes.create_string_buffer(struct.pack('QQ', address, 8), 16)\n"
        "call('process_vm_readv', victim, ours, 1, theirs, 1, 0)\nassert here.raw == b'treasure'",
        {SECCOMP: KILLED, LANDLOCK: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM", USERS: "EPERM"},
        host_may_refuse=True,
    ),
    Attack(
        "debug another process",
        "call('ptrace', 0x4206, victim, 0, 0)",
        {SECCOMP: KILLED, LANDLOCK: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM", USERS: "EPERM"},
        host_may_refuse=True,
    ),
    Attack(
        "see which files another process has open",
        "import os; os.readlink(f'/proc/{victim}/fd/0')",
        {SECCOMP: "EACCES", LANDLOCK: "EACCES", ROOT: "ENOENT", USER_ID: "EACCES", USERS: "EACCES"},
    ),
    Attack(
        "take a file that another process has open",
        "import os; call('pidfd_getfd', os.pidfd_open(victim), 0, 0)",
        {SECCOMP: "EPERM", LANDLOCK: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM", USERS: "EPERM"},
        host_may_refuse=True,
    ),
    Attack(
        "kill another process",
        "import os; os.kill(victim, 18)",
        {SECCOMP: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM", **SCOPED_BY_LANDLOCK},
    ),
    Attack(
        "lower another process's limits",
        "import resource; resource.prlimit(victim, resource.RLIMIT_NOFILE)",
        {SECCOMP: "EPERM", PROCESSES: "ESRCH", USER_ID: "EPERM"},
    ),
)

ATTACKS = (*FILES, *OTHERS, *NETWORKING, *PROCESS_CONTROL)
