extension Wire {
    /// Uploads what is pending.
    package enum Sync: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Sync"

        /// Parameters of Sync.
        package struct Parameters: ControlParameters {
            /// Whether to reply only when the upload is done; absent means true.
            package var wait: Bool?

            /// Optional members default to absent.
            package init(
                wait: Bool? = nil
            ) {
                self.wait = wait
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case wait
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of Sync.
        package struct Result: Codable, Sendable, Equatable {
            /// drained, nothing_pending, transient, auth, permanent, rejected or disabled.
            package var outcome: String
            /// Number of locations acknowledged during this drain.
            package var uploaded: Int
            /// Number of locations still pending.
            package var pending: Int

            /// Memberwise initialiser.
            package init(
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
    package enum Rebatch: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Rebatch"
        /// None.
        package typealias Parameters = Wire.Empty

        /// The result of Rebatch.
        package struct Result: Codable, Sendable, Equatable {
            /// The dissolved batch.
            package var batchId: String
            /// Number of its locations and events, which go into new batches.
            package var rows: Int

            /// Memberwise initialiser.
            package init(
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
    package enum Resend: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Resend"

        /// The parameters of Resend.
        package struct Parameters: ControlParameters {
            /// The first time, inclusive.
            package var from: String
            /// The last time, inclusive. Absent: no end.
            package var to: String?

            /// Memberwise initialiser; omitted members are absent.
            package init(
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
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// The result of Resend.
        package struct Result: Codable, Sendable, Equatable {
            /// Number of locations and events that are pending again.
            package var requeued: Int

            /// Memberwise initialiser.
            package init(
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
    package enum GetPendingUploadCount: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetPendingUploadCount"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetPendingUploadCount.
        package struct Result: Codable, Sendable, Equatable {
            /// The number.
            package var count: Int

            /// Memberwise initialiser.
            package init(
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
    package enum SeedAuth: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".SeedAuth"
        /// No result.
        package typealias Result = Wire.Empty

        /// Parameters of SeedAuth.
        package struct Parameters: ControlParameters {
            /// Absent: refresh first.
            package var accessToken: String?
            /// Absent: the token cannot be refreshed.
            package var refreshToken: String?
            /// Unix time in seconds; absent: unknown.
            package var expiresAt: Int?

            /// Optional members default to absent.
            package init(
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
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Lists the dead letters.
    package enum GetRejected: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetRejected"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetRejected.
        package struct Result: Codable, Sendable, Equatable {
            /// In order of rejection; with `more`, one page of them.
            package var rejected: [Rejected]

            /// Memberwise initialiser.
            package init(
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
    package enum RetryRejected: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".RetryRejected"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of RetryRejected.
        package struct Result: Codable, Sendable, Equatable {
            /// Number of rows returned.
            package var requeued: Int

            /// Memberwise initialiser.
            package init(
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
    package enum PurgeRejected: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".PurgeRejected"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of PurgeRejected.
        package struct Result: Codable, Sendable, Equatable {
            /// Number of rows deleted.
            package var removed: Int

            /// Memberwise initialiser.
            package init(
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
