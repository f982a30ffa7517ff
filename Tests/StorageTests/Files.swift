import Glibc
import Support

func makeDirectory(_ path: String) throws {
    guard mkdir(path, 0o700) == 0 else { throw SetUpFailed(operation: "mkdir", code: errno) }
}

func replaceByLink(_ path: String, to target: String) throws {
    guard unlink(path) == 0, symlink(target, path) == 0 else {
        throw SetUpFailed(operation: "symlink", code: errno)
    }
}
