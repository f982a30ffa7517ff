extension Wire {
    /// Uploads what is pending.
    public enum Sync: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Sync"

        /// What Sync takes.
        public struct Parameters: ControlParameters {
            /// Answer when it is done; absent means true.
            public var wait: Bool?

            /// Makes the value; what is left out is absent.
            public init(
                wait: Bool? = nil
            ) {
                self.wait = wait
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case wait
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// What Sync answers.
        public struct Result: Codable, Sendable, Equatable {
            /// drained, nothing_pending, transient, auth, permanent, rejected or disabled.
            public var outcome: String
            /// Locations acknowledged by this drain.
            public var uploaded: Int
            /// Locations still pending.
            public var pending: Int

            /// Makes the value.
            public init(
                outcome: String, uploaded: Int, pending: Int
            ) {
                self.outcome = outcome
                self.uploaded = uploaded
                self.pending = pending
            }

            private enum CodingKeys: String, CodingKey {
                case outcome
                case uploaded
                case pending
            }
        }
    }

    /// Dissolves a batch that does not get through for its size; needs admin rights.
    public enum Rebatch: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Rebatch"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What Rebatch answers.
        public struct Result: Codable, Sendable, Equatable {
            /// The batch that is no more.
            public var batchId: String
            /// Its locations and events, which go into new batches.
            public var rows: Int

            /// Makes the value.
            public init(
                batchId: String, rows: Int
            ) {
                self.batchId = batchId
                self.rows = rows
            }

            private enum CodingKeys: String, CodingKey {
                case batchId = "batch_id"
                case rows
            }
        }
    }

    /// Sends kept rows again; needs admin rights.
    public enum Resend: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Resend"

        /// What Resend takes.
        public struct Parameters: ControlParameters {
            /// The first time, inclusive.
            public var from: String
            /// The last time, inclusive; absent: all since.
            public var to: String?

            /// Makes the value; what is left out is absent.
            public init(
                from: String, to: String? = nil
            ) {
                self.from = from
                self.to = to
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case from
                case to
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// What Resend answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Locations and events that are pending again.
            public var requeued: Int

            /// Makes the value.
            public init(
                requeued: Int
            ) {
                self.requeued = requeued
            }

            private enum CodingKeys: String, CodingKey {
                case requeued
            }
        }
    }

    /// Locations stored and not acknowledged.
    public enum GetPendingUploadCount: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetPendingUploadCount"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetPendingUploadCount answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Their number.
            public var count: Int

            /// Makes the value.
            public init(
                count: Int
            ) {
                self.count = count
            }

            private enum CodingKeys: String, CodingKey {
                case count
            }
        }
    }

    /// Replaces the token; needs admin rights.
    public enum SeedAuth: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".SeedAuth"
        /// Nothing.
        public typealias Result = Wire.Empty

        /// What SeedAuth takes.
        public struct Parameters: ControlParameters {
            /// Absent: refresh first.
            public var accessToken: String?
            /// Absent: no refreshing.
            public var refreshToken: String?
            /// Unix time in seconds; absent: unknown.
            public var expiresAt: Int?

            /// Makes the value; what is left out is absent.
            public init(
                accessToken: String? = nil, refreshToken: String? = nil, expiresAt: Int? = nil
            ) {
                self.accessToken = accessToken
                self.refreshToken = refreshToken
                self.expiresAt = expiresAt
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case accessToken = "access_token"
                case refreshToken = "refresh_token"
                case expiresAt = "expires_at"
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// The dead letters.
    public enum GetRejected: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetRejected"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetRejected answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Ascending by time of rejection; with more, a page of them.
            public var rejected: [Rejected]

            /// Makes the value.
            public init(
                rejected: [Rejected]
            ) {
                self.rejected = rejected
            }

            private enum CodingKeys: String, CodingKey {
                case rejected
            }
        }
    }

    /// Puts the dead letters back into the queue.
    public enum RetryRejected: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".RetryRejected"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What RetryRejected answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Rows put back.
            public var requeued: Int

            /// Makes the value.
            public init(
                requeued: Int
            ) {
                self.requeued = requeued
            }

            private enum CodingKeys: String, CodingKey {
                case requeued
            }
        }
    }

    /// Deletes the dead letters; needs admin rights.
    public enum PurgeRejected: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".PurgeRejected"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What PurgeRejected answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Rows deleted.
            public var removed: Int

            /// Makes the value.
            public init(
                removed: Int
            ) {
                self.removed = removed
            }

            private enum CodingKeys: String, CodingKey {
                case removed
            }
        }
    }
}
