// Everything that a daemon like this one could link, in Swift, and initialised: the libraries of the system, and
// FoundationEssentials with its JSON. What of it remains when nothing has been left out. It sleeps until it is killed.
import CCrypto
import CCurl
import CGPS
import CSQLite
import CSystemd
import CZlib
import FoundationEssentials
import Glibc
import Synchronization

struct Message: Codable {
    var id: String
    var time: Date
    var values: [String: Double]
}

func fail(_ what: String) -> Never {
    print("linked: \(what) cannot be initialised")
    exit(1)
}

let encoder = JSONEncoder()
encoder.dateEncodingStrategy = .iso8601
let decoder = JSONDecoder()
decoder.dateDecodingStrategy = .iso8601
let message = Message(id: UUID().uuidString, time: Date(), values: ["latitude": 52.5])
guard let json = try? encoder.encode(message), let again = try? decoder.decode(Message.self, from: json),
    again.id == message.id
else { fail("JSON") }

guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let handle = curl_easy_init() else {
    fail("libcurl")
}
var database: OpaquePointer?
guard sqlite3_open(":memory:", &database) == SQLITE_OK,
    sqlite3_exec(database, "CREATE TABLE t (x); INSERT INTO t VALUES (1)", nil, nil, nil) == SQLITE_OK
else { fail("SQLite") }
let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
stream.initialize(to: z_stream())
guard czlib_gzip_init(stream, 7) == Z_OK else { fail("zlib") }
guard let gps = cgps_new() else { fail("libgps") }
guard EVP_sha256() != nil else { fail("libcrypto") }
_ = sd_notify(0, "STATUS=linked")
let lock = Mutex(0)
lock.withLock { $0 += 1 }

print("ready")
fflush(stdout)
withExtendedLifetime((handle, database, stream, gps)) { _ = pause() }
