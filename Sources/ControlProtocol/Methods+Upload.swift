extension Wire {
    /// Uploads what is pending.
    public enum Sync: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Sync"

        /// Parameters of Sync.
        public struct Parameters: ControlParameters {
            /// Whether to reply only when the upload is done; absent means true.
            public var wait: Bool?

            /// Optional members default to absent.
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

        /// Result of Sync.
        public struct Result: Codable, Sendable, Equatable {
            /// drained, nothing_pending, transient, auth, permanent, rejected or disabled.
            public var outcome: String
            /// Number of locations acknowledged during this drain.
            public var uploaded: Int
            /// Number of locations still pending.
            public var pending: Int

            /// Memberwise initialiser.
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

    /// Dissolves a batch that fails because of its size; requires admin rights.
    public enum Rebatch: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Rebatch"
        /// None.
        public typealias Parameters = Wire.Empty

        /// The result of Rebatch.
        public struct Result: Codable, Sendable, Equatable {
            /// The dissolved batch.
            public var batchId: String
            /// Number of its locations and events, which go into new batches.
            public var rows: Int

            /// Memberwise initialiser.
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

    /// Sends kept rows again; requires admin rights.
    public enum Resend: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Resend"

        /// The parameters of Resend.
        public struct Parameters: ControlParameters {
            /// The first time, inclusive.
            public var from: String
            /// The last time, inclusive. Absent: no end.
            public var to: String?

            /// Memberwise initialiser; omitted members are absent.
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

        /// The result of Resend.
        public struct Result: Codable, Sendable, Equatable {
            /// Number of locations and events that are pending again.
            public var requeued: Int

            /// Memberwise initialiser.
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

    /// Number of locations stored but not acknowledged.
    public enum GetPendingUploadCount: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetPendingUploadCount"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetPendingUploadCount.
        public struct Result: Codable, Sendable, Equatable {
            /// The number.
            public var count: Int

            /// Memberwise initialiser.
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

    /// Replaces the token; requires admin rights.
    public enum SeedAuth: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".SeedAuth"
        /// No result.
        public typealias Result = Wire.Empty

        /// Parameters of SeedAuth.
        public struct Parameters: ControlParameters {
            /// Absent: refresh first.
            public var accessToken: String?
            /// Absent: the token cannot be refreshed.
            public var refreshToken: String?
            /// Unix time in seconds; absent: unknown.
            public var expiresAt: Int?

            /// Optional members default to absent.
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

    /// Lists the dead letters.
    public enum GetRejected: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetRejected"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetRejected.
        public struct Result: Codable, Sendable, Equatable {
            /// In order of rejection; with `more`, one page of them.
            public var rejected: [Rejected]

            /// Memberwise initialiser.
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

    /// Returns the dead letters to the queue.
    public enum RetryRejected: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".RetryRejected"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of RetryRejected.
        public struct Result: Codable, Sendable, Equatable {
            /// Number of rows returned.
            public var requeued: Int

            /// Memberwise initialiser.
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

    /// Deletes the dead letters; requires admin rights.
    public enum PurgeRejected: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".PurgeRejected"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of PurgeRejected.
        public struct Result: Codable, Sendable, Equatable {
            /// Number of rows deleted.
            public var removed: Int

            /// Memberwise initialiser.
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
