# Runs a command under limits that the kernel enforces: writing, reading, network and processes.
#
# Usage: perl launcher.pl [NAME=VALUE]... -- PROGRAM [ARGUMENT]...
#        perl launcher.pl hold=sockets [enter=FILE]... --
#
#   write=PATH   read and write PATH and all below it; all path options may be repeated
#   read=PATH    read PATH and all below it; without any `read`, everything may be read
#   hide=PATH    neither read nor write PATH and all below it, except paths of `write` and `open`
#   open=PATH    read PATH although it is inside a hidden directory
#   keep=PATH    do not write PATH and all below it, although it is inside a path of `write`
#   mask=PATH    show the file PATH as empty, and do not write it; needs namespaces
#   net=open     allow the network; closed otherwise
#   enter=FILE   join the namespace behind this file; may be repeated, the user namespace first
#   connects=NUMBER:PROCESS:PATH  let the process that listens at the Unix socket PATH make the
#                connections of the command, also those of Unix sockets; it is told the number;
#                without namespaces, there is no such thing
#   var=NAME=... set a variable for the command that perl itself must not obey
#
# Paths are absolute and free of symlinks; a path with one is skipped. In a writable directory that
# contains a hidden path, only existing entries may be written; without namespaces, the same holds
# for one that contains a path of `keep`. The limits hold for all descendants
# of the command, even detached ones, and none of them can lift the limits:
#
#   Landlock     file access; no signals to, tracing of or inspection of processes outside
#   namespaces   where available: a private network with only a loopback device, and a read-only
#                view of all but the writable paths, because Landlock ignores modes and times
#   seccomp      no sockets except internet sockets, since services behind others (D-Bus, docker)
#                could act for the command; no ways around that filter; and without a network
#                namespace no internet sockets either. With `connects`, Unix sockets that must
#                connect before they send, and each connection is made by the other side
#
# The second form confines nothing. It holds a private network for the commands of a session, which
# join it by `enter`: on stdin, a Unix socket, it sends one byte once the network is ready, and then
# a new TCP socket of that network for each byte it reads: `6` is IPv6, any other IPv4. Where there
# is no such socket, it sends a byte alone. It ends with its stdin.
#
# If the command cannot be confined, it is not run: exit code 121, and a line that begins as below.
# No `use warnings`: loading it takes perl longer than all of this. 64-bit Linux only.

use strict;

my $FAILED = "acp-server: this cannot be confined";

my ($O_PATH, $O_CLOEXEC, $NO_LINKS, $HERE) = (0x200000, 0x80000, 0x04, -100);
my ($NEW_MOUNTS, $NEW_USER, $NEW_NETWORK) = (0x00020000, 0x10000000, 0x40000000);
my ($BIND, $RECURSIVE, $SLAVE, $READ_ONLY, $TREE) = (0x1000, 0x4000, 0x80000, 0x01, 0x8000);
my %CALLS = (    # syscall numbers by the machine field of an ELF header
    0x3e => {arch => 0xc000003e, prctl => 157, unshare => 272, mount => 165, close => 3,
        socket => 41, connect => 42, socketpair => 53, seccomp => 317, ioctl => 16, keys => [248, 249, 250], setns => 308,
        sendmsg => 46, foreign => 0x40000000,
        by_process => [142, 144, 203, 302, 314], setpriority => 141, ioprio_set => 251},
    0xb7 => {arch => 0xc00000b7, prctl => 167, unshare => 97, mount => 40, close => 57,
        socket => 198, connect => 203, socketpair => 199, seccomp => 277, ioctl => 29, keys => [217, 218, 219], setns => 268,
        sendmsg => 211, foreign => 0xffffffff,
        by_process => [118, 119, 122, 261, 274], setpriority => 140, ioprio_set => 30},
);    # by_process: sched_setparam, sched_setscheduler, sched_setaffinity, prlimit, sched_setattr
my ($OPENAT2, $MOUNT_SETATTR, $CREATE_RULESET, $ADD_RULE, $RESTRICT) = (437, 442, 444, 445, 446);
my $IO_URING_SETUP = 425;

my ($RUN, $WRITE, $READ, $LIST, $TRUNCATE, $DEVICE) = (1, 2, 4, 8, 1 << 14, 1 << 15);
my $MAKE = 0x37b0;       # create, rename and delete anything except devices
my $OF_FILES = $RUN | $WRITE | $READ | $TRUNCATE | $DEVICE;
my @DEVICES = map { "/dev/$_" }
    qw(null zero full random urandom tty ptmx pts shm mqueue fd stdin stdout stderr);
my @KEPT_POWERS = (0, 1, 3, 4, 5, 6, 7, 10);    # capabilities: files, own processes, low ports

my (@write, @read, @hide, @open, @keep, @mask, @var, @enter, @hold, @connects, $net);
my (%calls, %above, %hidden, %mounted, $ruleset, $rights);

sub fail { print STDERR "$FAILED: $_[0]; nothing was run\n"; exit 121 }

sub read_arguments {
    my @net;
    my %lists = (write => \@write, read => \@read, hide => \@hide, open => \@open, keep => \@keep, mask => \@mask,
        var => \@var,
        connects => \@connects, net => \@net, enter => \@enter, hold => \@hold);
    while (defined(my $argument = shift @ARGV)) {
        last if $argument eq '--';
        my ($name, $value) = $argument =~ /\A(\w+)=(.*)\z/s or fail("what is $argument");
        push @{$lists{$name} or fail("what is $name")}, $value;
    }
    fail("there is no command") if !@ARGV && !@hold;
    $net = @net && $net[-1] eq 'open';
    for (@var) { $ENV{$1} = $2 if /\A(\w+)=(.*)\z/s }
}

# Picks the syscall numbers by the ELF header of the running perl.
sub find_calls {
    open(my $self, '<:raw', '/proc/self/exe') or fail("there is no /proc");
    read($self, my $head, 20) == 20 or fail("no ELF");
    my $machine = unpack('v', substr($head, 18, 2));
    fail("this machine is not known") if ord(substr($head, 4, 1)) != 2 || !$CALLS{$machine};
    %calls = %{$CALLS{$machine}};
}

sub control {
    my ($what, $value) = @_;
    return syscall($calls{prctl}, $what, $value, 0, 0, 0);
}

sub write_text {
    my ($path, $text) = @_;
    open(my $file, '>', $path) or return;
    return syswrite($file, $text) && close($file);
}

# Joins the namespaces of the session.
sub enter_namespaces {
    my $here = readlink('/proc/self/cwd');
    my @files;
    for (@enter) { open(my $file, '<', $_) or fail("a namespace is gone: $!"); push @files, $file }
    # All are open by now: from within the user namespace, the files could not be opened any more.
    for (@files) { syscall($calls{setns}, fileno($_), 0) == 0 or fail("no namespace: $!") }
    chdir($here) or fail("the folder is gone: $!");
}

# Returns whether the command has namespaces.
sub prepare_namespaces {
    return make_namespaces($NEW_MOUNTS | ($net ? 0 : $NEW_NETWORK)) if !@enter;
    enter_namespaces();
    return syscall($calls{unshare}, $NEW_MOUNTS) == 0;
}

# Makes namespaces as far as the system allows it; returns whether it does.
sub make_namespaces {
    my ($flags) = @_;
    return 1 if $> == 0 && syscall($calls{unshare}, $flags) == 0;
    my ($user, $group) = ($>, (split ' ', $))[0]);
    # Not fatal: many systems forbid user namespaces. Then seccomp closes the network instead.
    return 0 if syscall($calls{unshare}, $flags | $NEW_USER) != 0;
    # The kernel requires this before an unprivileged process may write gid_map.
    write_text('/proc/self/setgroups', 'deny');
    write_text('/proc/self/gid_map', "$group $group 1") or fail("no group: $!");
    write_text('/proc/self/uid_map', "$user $user 1") or fail("no user: $!");
    return 1;
}

sub raise_loopback {
    socket(my $socket, 2, 2, 0) or return;
    my $request = pack('a16 s x22', 'lo', 0x41);    # up and running
    ioctl($socket, 0x8914, $request);
}

# Sends a text of at least one byte, and a descriptor with it.
sub send_descriptor {
    my ($socket, $descriptor, $text) = @_;
    # The layouts of iovec, cmsghdr (SCM_RIGHTS) and msghdr on 64-bit Linux.
    my $iovec = pack('PQ', $text, length $text);
    my $control = pack('Qlll x4', 20, 1, 1, $descriptor);
    my $message = pack('QQPQPQQ', 0, 0, $iovec, 1, $control, 24, 0);
    return syscall($calls{sendmsg}, $socket, $message, 0) == length $text;
}

sub hold_network {
    if (@enter) { enter_namespaces() }
    else {
        # A system may forbid what can be done in a namespace rather than the namespace itself.
        make_namespaces($NEW_NETWORK) && raise_loopback() or fail("there are no namespaces");
    }
    open(my $pipe, '+<&=', 0) or return;
    syswrite($pipe, '+') or return;
    while (sysread($pipe, my $request, 1)) {
        if (!socket(my $socket, $request eq '6' ? 10 : 2, 1, 0)) { syswrite($pipe, '-') or return }
        else { send_descriptor(0, fileno($socket), $request) or return }
    }
}

sub mount_at {
    my ($source, $target, $flags) = @_;
    my $none = 0;
    return syscall($calls{mount}, $source, $target, $none, $flags, $none) == 0;
}

sub set_read_only {
    my ($path, $set, $clear) = @_;
    my $change = pack('Q4', $set, $clear, 0, 0);
    syscall($MOUNT_SETATTR, $HERE, $path, $TREE, $change, 32) == 0;
}

# Mounts a path on itself and makes that read-only; returns whether it is. The directories above it
# are mounted as well, since no command can move a mount: another could take its place otherwise.
sub keep_read_only {
    my ($path) = @_;
    my @above;
    for (my $folder = $path; $folder =~ s{/[^/]*\z}{} && $folder ne '';) { unshift @above, $folder }
    for my $folder (@above) {
        next if $mounted{$folder} || !grep { index($folder, "$_/") == 0 } @write;
        mount_at($folder, $folder, $BIND | $RECURSIVE) or return 0;
        $mounted{$folder} = 1;
    }
    return mount_at($path, $path, $BIND | $RECURSIVE) && set_read_only($path, $READ_ONLY, 0);
}

# Mounts /dev/null on a file. It cannot be moved away, and a link to the file would cross the mount.
sub mask {
    my ($path) = @_;
    my $null = '/dev/null';
    mount_at($null, $path, $BIND) || !-e $path or fail("$path cannot be hidden: $!");
}

sub view_read_only {
    my $here = readlink('/proc/self/cwd');
    my ($root, $none) = ('/', 'none');
    # Slave propagation first: the mounts below must not reach the host's mount namespace.
    mount_at($none, $root, $RECURSIVE | $SLAVE) or return 0;
    my @own = grep { mount_at($_, $_, $BIND | $RECURSIVE) } @write, map { "/dev/$_" } 'shm', 'mqueue';
    set_read_only($root, $READ_ONLY, 0) or return 0;
    set_read_only($_, 0, $READ_ONLY) for @own;
    @keep = grep { !keep_read_only($_) } @keep;
    mask($_) for @mask;
    # The old working directory still refers to the read-only mount.
    chdir($here) or fail("the folder is gone: $!");
    return 1;
}

# Landlock denies everything that is not granted.
sub grant {
    my ($path, $wanted) = @_;
    my $how = pack('Q3', $O_PATH | $O_CLOEXEC, 0, $NO_LINKS);
    # Security: openat2 refuses symlinks in every component, so a path that was swapped after it was
    # resolved grants nothing.
    my $descriptor = syscall($OPENAT2, $HERE, $path, $how, 24);
    return if $descriptor < 0;    # gone, or a symlink
    for my $kind ($wanted, $wanted & $OF_FILES) {    # retry: a file rejects directory rights
        my $rule = pack('Ql', $kind & $rights, $descriptor);
        last if !($kind & $rights) || syscall($ADD_RULE, $ruleset, 1, $rule, 0) == 0;
    }
    syscall($calls{close}, $descriptor);
}

# Grants a path and all below it except hidden paths. Landlock cannot subtract, so a directory above
# a hidden path is not granted itself; its entries are.
sub grant_around {
    my ($path, $wanted) = @_;
    return if $hidden{$path};
    return grant($path, $wanted) if !$above{$path};
    opendir(my $folder, $path) or return;
    my $start = $path eq '/' ? '/' : "$path/";
    grant_around("$start$_", $wanted) for grep { $_ ne '.' && $_ ne '..' } readdir($folder);
}

sub note_hidden {
    for my $path (@_) {
        $hidden{$path} = 1;
        my $folder = $path;
        $above{$folder eq '' ? '/' : $folder} = 1 while $folder =~ s{/[^/]*\z}{};
    }
}

sub build_ruleset {
    my $version = syscall($CREATE_RULESET, 0, 0, 1);
    fail("the kernel has no Landlock") if $version < 1;
    $rights = 0x1fff | ($version > 1 ? 1 << 13 : 0) | ($version > 2 ? $TRUNCATE : 0)
        | ($version > 4 ? $DEVICE : 0);
    my @fields = ($rights, ($version > 3 ? 0 : ()), ($version > 5 ? 3 : ()));
    my $handled = pack('Q*', @fields);
    $ruleset = syscall($CREATE_RULESET, $handled, length $handled, 0);
    fail("Landlock does not start: $!") if $ruleset < 0;
}

sub grant_all {
    my $use = $RUN | $READ;
    note_hidden('/dev', @hide);
    if (@read) {
        for (@read) { grant($_, $LIST) if $above{$_}; grant_around($_, $use | $LIST) }
    }
    else { grant('/', $LIST); grant_around('/', $use | $LIST) }
    # No mount protects these: where namespaces are missing, Landlock alone has to.
    grant_around($_, $use | $LIST) for @keep;
    note_hidden(@keep);
    grant_around($_, $use | $LIST | $WRITE | $TRUNCATE | $MAKE) for @write;
    grant($_, $use | $LIST) for @open;
    grant($_, $use | $LIST | $WRITE | $TRUNCATE | $DEVICE | $MAKE) for @DEVICES;
}

# Connects to the other side that makes the connections of the command; returns nothing without one.
sub reach_supervisor {
    my ($number, $process, $path) = ($connects[-1] // '') =~ /\A(\d+):(\d+):(.*)\z/s or return;
    socket(my $socket, 1, 1, 0) or return;
    connect($socket, pack('Sa*x', 1, $path)) or return;
    # Security: a command may have put a socket of its own there, if it can write the directory.
    my ($listening) = unpack('l', getsockopt($socket, 1, 17));    # SO_PEERCRED
    return if $listening != $process;
    return ($number, $socket);
}

# seccomp filter in classic BPF; jump offsets count from the next instruction.
sub filter {
    my ($has_own_network, $is_supervised) = @_;
    my @families = (16, $net || $has_own_network ? (2, 10) : ());
    my $load = sub { pack('SCCL', 0x20, 0, 0, $_[0]) };
    my $refuse = sub { pack('SCCL', 0x06, 0, 0, 0x50000 | $_[0]) };
    my $when = sub { my ($value, @then) = @_; (pack('SCCL', 0x15, 0, scalar @then, $value), @then) };
    my $allow = pack('SCCL', 0x06, 0, 0, 0x7fff0000);
    my @itself = $when->(0, $allow);
    my ($denied, $unknown) = ($refuse->(1), $refuse->(38));
    # The type of a socket without its flags. A datagram could be sent to any socket, unasked.
    my @type = ($load->(24), pack('SCCL', 0x54, 0, 0, 0xf));
    my $ask = pack('SCCL', 0x06, 0, 0, 0x7fc00000);
    # EAFNOSUPPORT (97) where there are no Unix sockets: programs say so, or do without.
    my @unix = $when->(1, @type, $when->(1, $allow), $when->(5, $allow), $denied);
    return (
        # Order: check the architecture first. Syscall numbers mean something else in another ABI.
        $load->(4), pack('SCCL', 0x15, 1, 0, $calls{arch}), $denied,
        $load->(0), pack('SCCL', 0x35, 0, 1, $calls{foreign}), $denied,
        # io_uring could create sockets past this filter. ENOSYS makes programs fall back.
        (map { $when->($_, $unknown) } @{$calls{keys}}, $IO_URING_SETUP),
        $when->($calls{socket}, $load->(16), (map { $when->($_, $allow) } @families),
            ($is_supervised ? @unix : $when->(1, $refuse->(97))), $denied),
        $when->($calls{socketpair}, @type, $when->(2, $denied), $allow),
        ($is_supervised ? $when->($calls{connect}, $ask) : ()),
        # The scheduling and the limits of any other process, which may be outside. A user (2 and 3)
        # stands for all of its processes.
        (map { $when->($_, $load->(16), @itself, $denied) } @{$calls{by_process}}),
        (map { $when->($_->[0], $load->(16), $when->($_->[1], $denied), $load->(24), @itself, $denied) }
            [$calls{setpriority}, 2], [$calls{ioprio_set}, 3]),
        # TIOCSTI and TIOCLINUX: they type into the terminal, outside the sandbox.
        $when->($calls{ioctl}, $load->(24), (map { $when->($_, $denied) } 0x5412, 0x541c)),
        $allow,
    );
}

sub load_filter {
    my (@filter) = @_;
    my $code = join '', @filter;
    my $program = pack('S x6 P', scalar @filter, $code);
    return syscall($calls{prctl}, 22, 2, $program, 0, 0) == 0;
}

# Loads a filter that asks; returns the descriptor that gets the questions, or -1.
sub load_asking_filter {
    my (@filter) = @_;
    my $code = join '', @filter;
    my $program = pack('S x6 P', scalar @filter, $code);
    # Where the kernel knows that, signals do not interrupt a question once it was read.
    my $asked = syscall($calls{seccomp}, 1, 0x28, $program);
    return $asked >= 0 ? $asked : syscall($calls{seccomp}, 1, 0x08, $program);
}

sub restrict {
    my ($has_own_network, $number, $supervisor) = @_;
    for my $power (0 .. 63) { control(24, $power) unless grep { $_ == $power } @KEPT_POWERS }
    # no_new_privs: required by Landlock and seccomp, and set-uid programs gain nothing.
    control(38, 1) == 0 or fail("privileges cannot be given up: $!");
    syscall($RESTRICT, $ruleset, 0) == 0 or fail("Landlock refuses: $!");
    # Fails where a filter that asks is there already: in the sandbox of another session.
    my $asked = $supervisor ? load_asking_filter(filter($has_own_network, 1)) : -1;
    if ($asked >= 0) {
        send_descriptor(fileno($supervisor), $asked, "$number\n") or fail("nobody supervises: $!");
    }
    else { load_filter(filter($has_own_network)) or fail("seccomp refuses: $!") }
}

# Order: Landlock forbids mounts, so the namespaces and their mounts come before `restrict`.
read_arguments();
find_calls();
if (@hold) { hold_network(); exit 0 }
build_ruleset();
my $has_spaces = prepare_namespaces();
my $has_own_network = $has_spaces && !$net;
raise_loopback() if $has_own_network && !@enter;
my $has_view = $has_spaces && view_read_only();
fail("files cannot be hidden") if @mask && !$has_view;
grant_all();
restrict($has_own_network, $has_spaces ? reach_supervisor() : ());
exec { $ARGV[0] } @ARGV;
fail("$ARGV[0] cannot be started: $!");
