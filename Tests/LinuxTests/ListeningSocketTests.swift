import CLinux
import Glibc
import Support
import Testing

@testable import Linux

private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : nil
}

@Test("the socket may be opened by owner and group from its first moment, and goes with the one who made it")
func socketIsMadeAndRemoved() throws {
    let temporary = try TemporaryDirectory()
    let path = temporary.file("s")
    do {
        let listening = try ListeningSocket(at: path, group: nil) { #expect(mode(path) == S_IFSOCK | 0o660) }
        #expect(mode(path) == S_IFSOCK | 0o660)
        listening.remove()
    }
    #expect(mode(path) == nil)
}

@Test(
    "the umask with which it is made is that of this thread, and only until then",
    .enabled(if: clinux_own_umask() == 0, "unshare is forbidden here"))
func umaskOfOneThread() throws {
    let temporary = try TemporaryDirectory()
    try ListeningSocket(at: temporary.file("s"), group: nil).remove()
    let before = umask(0o011)
    defer { umask(before) }
    #expect(before != 0o117)
    let status = String(decoding: try readFile("/proc/self/status", limit: 1 << 14), as: UTF8.self)
    #expect(status.contains("Umask:") && !status.contains("Umask:\t0011"))
}

@Test("a socket that answers is not taken; one that nobody answers on is replaced")
func socketThatAnswers() throws {
    let temporary = try TemporaryDirectory()
    let path = temporary.file("s")
    do {
        let first = try ListeningSocket(at: path, group: nil)
        let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(at: path, group: nil) }
        #expect(error?.code == EADDRINUSE)
        // Also without the lock, which somebody may have removed.
        #expect(unlink(path + ".lock") == 0)
        let again = #expect(throws: SystemError.self) { _ = try ListeningSocket(at: path, group: nil) }
        #expect(again?.code == EADDRINUSE)
        var wasAsked = false
        if let probe = first.descriptor.accept() { wasAsked = probe.raw >= 0 }
        #expect(wasAsked)
    }
    // Not removed: what a killed daemon leaves.
    #expect(mode(path) != nil)
    // A program that another test starts has copies of the socket and of the lock until it runs.
    let isReplaced = wait {
        do {
            let next = try ListeningSocket(at: path, group: nil)
            next.remove()
            return true
        } catch {
            return poll(nil, 0, 5) > 0
        }
    }
    #expect(isReplaced)
    #expect(mode(path) == nil)
}

@Test("at its end it removes no socket of somebody else")
func socketOfAnother() throws {
    let temporary = try TemporaryDirectory()
    let path = temporary.file("s")
    let first = try ListeningSocket(at: path, group: nil)
    #expect(unlink(path) == 0 && unlink(path + ".lock") == 0)
    let second = try ListeningSocket(at: path, group: nil)
    first.remove()
    #expect(mode(path) != nil)
    second.remove()
    #expect(mode(path) == nil)
}

@Test("what is no socket stays where it is", arguments: [true, false])
func plantedFile(isLink: Bool) throws {
    let temporary = try TemporaryDirectory()
    try temporary.write("victim", [1])
    #expect(chmod(temporary.file("victim"), 0o600) == 0)
    if isLink { #expect(symlink(temporary.file("victim"), temporary.file("s")) == 0) }
    let path = temporary.file(isLink ? "s" : "victim")
    let error = #expect(throws: SystemError.self) { _ = try ListeningSocket(at: path, group: nil) }
    #expect(error?.code == EEXIST)
    #expect(mode(temporary.file("victim")) == S_IFREG | 0o600)
}

@Test("a swap between making the socket and giving it away is found, and what was put there stays as it is")
func swappedSocket() throws {
    let temporary = try TemporaryDirectory()
    try temporary.write("victim", [1])
    #expect(chmod(temporary.file("victim"), 0o600) == 0)
    for isLink in [true, false] {
        // Each with a lock of its own: a program that another test starts has a copy of it until it runs.
        let path = temporary.file(isLink ? "link" : "file")
        let error = #expect(throws: SystemError.self) {
            _ = try ListeningSocket(at: path, group: 64001) {
                #expect(unlink(path) == 0)
                let victim = temporary.file("victim")
                #expect((isLink ? symlink(victim, path) : rename(victim, path)) == 0)
            }
        }
        #expect(error?.code == ESTALE)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode == S_IFREG | 0o600 && status.st_gid == getegid())
        if isLink { #expect(unlink(path) == 0) }
    }
}

@Test(
    "root's socket is refused where others could replace it",
    .enabled(if: geteuid() == 0, "only root is picky"),
    arguments: [(0o755, 0, true), (0o1777, 0, true), (0o775, 0, false), (0o777, 0, false), (0o700, 1, false)]
        as [(mode_t, uid_t, Bool)])
func sharedFolder(mode: mode_t, owner: uid_t, isAccepted: Bool) throws {
    let temporary = try TemporaryDirectory()
    #expect(chmod(temporary.path, mode) == 0 && chown(temporary.path, owner, 0) == 0)
    if isAccepted {
        _ = try ListeningSocket(at: temporary.file("s"), group: nil)
    } else {
        let error = #expect(throws: SystemError.self) {
            _ = try ListeningSocket(at: temporary.file("s"), group: nil)
        }
        #expect(error?.code == EPERM)
    }
}
