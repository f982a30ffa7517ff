internal import Glibc

/// What another program says.
enum Subprocess {
    /// Runs it with neither input nor error output.
    ///
    /// - Parameters:
    ///   - arguments: the first is its name, which is looked up in PATH.
    ///   - limit: bytes that are kept of its output, from the beginning.
    ///   - seconds: after which it is ended.
    ///   - isStrict: what it has said counts only if it ends with 0.
    /// - Returns: nil when it cannot be started, or is not done in time.
    static func output(
        of arguments: [String], limit: Int, seconds: Double, isStrict: Bool = true
    ) -> [UInt8]? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var pid = pid_t()
        let code = posix_spawnp(&pid, arguments.first ?? "", &actions, nil, &words, environ)
        close(ends[1])
        guard code == 0 else { return nil }
        let output = read(ends[0], limit: limit, until: now() + seconds)
        if output == nil { kill(pid, SIGKILL) }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status == 0 || !isStrict ? output : nil
    }

    /// nil when there is no end in time.
    private static func read(_ descriptor: Int32, limit: Int, until deadline: Double) -> [UInt8]? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let left = deadline - now()
            guard left > 0 else { return nil }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Int32(left * 1000) + 1) > 0 else { continue }
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return bytes }
            // The rest is read and not kept: a program that cannot write does not end.
            if count > 0, bytes.count < limit { bytes += piece[..<count].prefix(limit - bytes.count) }
            if count < 0, errno != EINTR { return nil }
        }
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
