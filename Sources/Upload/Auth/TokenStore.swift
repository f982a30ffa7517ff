package import Base
internal import FoundationEssentials
internal import Glibc
package import Linux
internal import Synchronization

/// Keeps the credentials in the state directory, sealed, and finds the key.
///
/// The key is the systemd credential `beekond.key`, else the file of that name in the state directory, which is made when
/// it is first needed. Once there is a credential, the file still opens what was sealed with it; new records are sealed
/// with the credential.
package struct TokenStore: Sendable {
    /// What is stored.
    package enum Content: Equatable, Sendable {
        case nothing
        case record(AuthRecord)
        /// The key is missing, or a later version wrote the file: it must stay as it is. `reason` says what to do as well.
        case locked(reason: String)
        /// The file can never be read: it has been moved aside.
        case damaged(aside: String)
    }

    /// Why nothing could be written.
    package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        /// What happened, in words.
        package let description: String
    }

    /// Whether a file in the state directory would let others upload in the name of this installation: the tokens,
    /// including those moved aside, their key, and what it enrols with.
    package static func holdsSecrets(_ file: String) -> Bool {
        [name, keyName, EnrolmentNonce.name].contains { file == $0 || file.hasPrefix($0 + ".") }
            || file.hasPrefix(name + "-")
    }

    /// Whether a file in the state directory has tokens of this destination, those moved aside included.
    package static func holds(_ file: String, tokensOf destination: DestinationName) -> Bool {
        let name = name(of: destination)
        return file == name || file.hasPrefix(name + ".")
    }

    private static func name(of destination: DestinationName) -> String {
        destination == .main ? name : "\(name)-\(destination)"
    }

    /// The name of the credential, and of the key file.
    package static let keyName = "beekond.key"
    static let name = "tokens"

    /// Destinations that need the key at the same time must get the same one.
    private static let keyMaking = Mutex(())

    private let directory: StateDirectory
    /// Name of the file; what is sealed in it cannot be opened under another.
    private let name: String
    private let owner: String
    private let credentials: String?

    /// - Parameters:
    ///   - credentials: the folder of the systemd credentials; nil for none.
    ///   - destination: whose tokens they are.
    package init(directory: StateDirectory, credentials: String?, destination: DestinationName = .main) {
        self.directory = directory
        name = Self.name(of: destination)
        owner = destination == .main ? "" : destination.text
        self.credentials = credentials
    }

    /// What is stored; a damaged file is moved aside.
    ///
    /// - Throws: when the file, or the key that it needs, is there and cannot be read, but perhaps later.
    package func load() throws(SystemError) -> Content {
        let bytes: [UInt8]
        do throws(SystemError) {
            guard let found = try directory.read(name, limit: TokenEnvelope.limit) else {
                return .nothing
            }
            bytes = found
        } catch {
            // The file may be intact: the disk does not give it now, too many are open, there is no memory, or it is not ours
            // to open.
            if error.isForbidden || [EIO, EMFILE, ENFILE, ENOMEM].contains(error.code) { throw error }
            return .damaged(aside: try directory.moveAside(name))
        }
        let keys = keys()
        do throws(TokenEnvelope.Refusal) {
            let text = try TokenEnvelope.open(bytes, with: keys.found, of: owner)
            if let record = try? JSONDecoder().decode(AuthRecord.self, from: Data(text)) {
                return .record(record)
            }
        } catch {
            switch error {
            case .unknownKey:
                if let failure = keys.failure { throw failure }
                return .locked(
                    reason: "the key that they were encrypted with is not there; bring \(Self.keyName) back "
                        + "(the systemd credential, or the file in the state directory)")
            case .newerVersion:
                return .locked(reason: "a later version of beekond has written them; install that one")
            case .damaged: break
            }
        }
        return .damaged(aside: try directory.moveAside(name))
    }

    /// Seals and writes the record; when this returns, a power cut cannot undo it.
    ///
    /// - Parameter isOverwriting: false: what is stored is first renamed, not overwritten.
    package func save(
        _ record: AuthRecord, isOverwriting: Bool = true, using random: inout some RandomNumberGenerator
    ) throws(Failure) {
        do {
            let key = try sealingKey(using: &random)
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            let text = [UInt8](try encoder.encode(record))
            let nonce = Self.bytes(TokenEnvelope.nonceSize, using: &random)
            guard let envelope = TokenEnvelope.seal(text, with: key, of: owner, nonce: nonce) else {
                throw Failure(description: "libcrypto failed")
            }
            try directory.replace(name, with: envelope, movingOldAside: !isOverwriting)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(description: "\(error)")
        }
    }

    /// All keys that can be read, and why another cannot, though it is there.
    private func keys() -> (found: [TokenKey], failure: SystemError?) {
        var materials: [[UInt8]?] = []
        var failure: SystemError?
        do throws(SystemError) {
            if let credentials { materials.append(try Self.read(credentials + "/" + Self.keyName)) }
        } catch { failure = error }
        do throws(SystemError) {
            materials.append(try directory.read(Self.keyName, limit: 4096))
        } catch { failure = error }
        return (materials.compactMap { $0.flatMap { TokenKey(material: $0) } }, failure)
    }

    private func sealingKey(using random: inout some RandomNumberGenerator) throws -> TokenKey {
        if let credentials, let material = try Self.read(credentials + "/" + Self.keyName) {
            guard let key = TokenKey(material: material) else {
                throw Failure(description: "the credential \(Self.keyName) has fewer than 32 bytes")
            }
            return key
        }
        return try Self.keyMaking.withLock { _ in try ownKey(using: &random) }
    }

    private func ownKey(using random: inout some RandomNumberGenerator) throws -> TokenKey {
        if let material = try directory.read(Self.keyName, limit: 4096) {
            guard let key = TokenKey(material: material) else {
                throw Failure(description: "\(directory.file(Self.keyName)) has fewer than 32 bytes")
            }
            return key
        }
        let material = Self.bytes(TokenKey.size, using: &random)
        guard let key = TokenKey(material: material) else { throw Failure(description: "no key") }
        // Durable before anything is sealed with it.
        try directory.replace(Self.keyName, with: material)
        return key
    }

    private static func read(_ path: String) throws(SystemError) -> [UInt8]? {
        do {
            return try readFile(path, limit: 4096)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
    }

    private static func bytes(_ count: Int, using random: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
}
