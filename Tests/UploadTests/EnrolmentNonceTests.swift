import Glibc
import Linux
import Support
import Testing

@testable import Upload

@Suite("what an installation enrols with")
final class EnrolmentNonceTests {
    private let directory: TemporaryDirectory
    private let state: StateDirectory
    private var random = SeededGenerator(seed: 7)

    init() throws {
        directory = try TemporaryDirectory()
        state = try StateDirectory(directory.file("state"))
    }

    private func keep() throws(SystemError) -> String {
        try EnrolmentNonce.keep(in: state, using: &random).text
    }

    @Test("it is made once, is on the disk when it is given out, and nobody else reads it")
    func kept() throws {
        let nonce = try keep()
        #expect(nonce.utf8.count == 32 && nonce.allSatisfy(\.isHexDigit))
        #expect(try state.read(EnrolmentNonce.name) == Array((nonce + "\n").utf8))
        var status = stat()
        #expect(stat(state.file(EnrolmentNonce.name), &status) == 0 && status.st_mode & 0o777 == 0o600)
        // After a crash between request and answer, too: it is the same.
        random = SeededGenerator(seed: 8)
        #expect(try keep() == nonce)
        try state.remove(EnrolmentNonce.name)
        #expect(try keep() != nonce)
    }

    @Test(
        "one that a script wrote counts; what is none is replaced",
        arguments: [
            ("0123456789ABCDEF0123456789abcdef", true), ("0123456789abcdef0123456789abcdef\n", true),
            ("", false),
            ("0123", false), ("0123456789abcdef0123456789abcdeg", false),
            ("٠123456789abcdef0123456789abcd", false),
            ("0123456789abcdef0123456789abcdef0", false), ("\0\0\0\0", false),
        ])
    func found(text: String, isOne: Bool) throws {
        try state.replace(EnrolmentNonce.name, with: Array(text.utf8))
        let nonce = try keep()
        #expect((nonce == "0123456789abcdef0123456789abcdef") == isOne)
        #expect(try keep() == nonce)
    }

    @Test("one that cannot be kept is not given out")
    func unkept() throws {
        mkdir(state.file(EnrolmentNonce.name), 0o700)
        #expect(throws: SystemError.self) { try keep() }
    }

    @Test(
        "it goes where tokens go",
        arguments: [
            ("enrolment-nonce", true), ("enrolment-nonce.tmp", true), ("tokens", true), ("beekond.key", true),
            ("enrolment", false), ("beekon.db", false),
        ])
    func secret(name: String, isSecret: Bool) {
        #expect(TokenStore.holdsSecrets(name) == isSecret)
    }
}
