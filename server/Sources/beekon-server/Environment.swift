import Glibc

/// The environment of the process.
enum Environment {
    static subscript(name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
