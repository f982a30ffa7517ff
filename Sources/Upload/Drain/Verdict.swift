/// What an answer means for the batch.
package enum Verdict: Equatable, Sendable {
    /// The backend has it: its rows can be deleted.
    case accepted
    /// The backend will never take it.
    case rejected
    case unauthorised
    /// Try again later. `retryAfter` in seconds, when the server asked for it.
    case transient(retryAfter: Double?)
    /// Only a change of the configuration or of the server can help.
    case permanent

    /// Which refusals are about the rows.
    package enum Rejections: Equatable, Sendable {
        /// Refusals that say so.
        case meant
        /// Refusals that may be, though a server made for other clients also means an unknown vehicle by them
        /// (Traccar, 400), a quota that is used up (PhoneTrack) or a wrong url.
        case whateverMayBeMeant
        /// No refusal is about the rows.
        case none

        fileprivate func include(_ status: Int) -> Bool {
            switch self {
            case .meant: [400, 422].contains(status)
            case .whateverMayBeMeant: [400, 402, 404, 422].contains(status)
            case .none: false
            }
        }
    }

    /// The status table of the upload contract.
    ///
    /// - Parameters:
    ///   - retryAfter: the header of that name, in seconds.
    ///   - doubt: why a 2xx is not believed; nil: it is.
    package init(
        status: Int, retryAfter: Double?, doubt: Doubt? = nil, rejecting rejections: Rejections = .meant
    ) {
        self =
            switch status {
            case 200...299: doubt == nil ? .accepted : .permanent
            case _ where rejections.include(status): .rejected
            case 401, 403: .unauthorised
            case 408, 429, 500...599: .transient(retryAfter: retryAfter)
            default: .permanent
            }
    }
}

/// Why a complete 2xx is not believed. The raw values are the failures shown in the status.
package enum Doubt: String, Equatable, Sendable {
    /// A page answers in place of the backend: a captive portal, a single-page app or a maintenance page.
    case page
    /// The answer begins with an error that PHP printed: whether what followed it was done, nobody knows.
    case phpError = "php_error"
    /// An acknowledgement was demanded, and the body does not acknowledge this batch.
    case noAck = "no_ack"
    /// The body does not say that the batch was taken, in the member that says so.
    case refused
    /// The body cannot be read to its end, so whatever it says is unknown.
    case unread

    /// The rows may be stored all the same: in another batch they would arrive twice.
    var leavesOpen: Bool {
        switch self {
        case .page, .refused: false
        case .phpError, .noAck, .unread: true
        }
    }
}

/// An answer as the format of the batch reads it.
package struct Judgement: Equatable, Sendable {
    /// What the answer says about the size of the batch.
    package enum Size: Equatable, Sendable {
        /// The size is not why the batch failed, if it did.
        case irrelevant
        /// The server waited too long for it (408).
        case tooSlow
        /// The server will not take so much (413).
        case tooLarge
    }

    /// The HTTP status, or the reason code of a broker.
    package var status: Int
    /// What the answer means for the batch.
    package var verdict: Verdict
    /// Why a 2xx is not believed; nil unless there is one that is not.
    package var doubt: Doubt?
    /// Whether the size is to blame.
    package var size: Size
    /// The answer itself, where a broker gave it.
    package var broker: MQTTAnswer?
    /// What the server says of its refusal, in a line without secrets; nil when it says nothing, or has not refused.
    package var reason: String?
    /// The answer is believed although the body says nothing of having taken the batch.
    package var isSilent = false
    /// How many rows the server says it has saved; nil: it does not say.
    package var saved: Int?

    /// The row may be why it was refused: not where a broker refuses the connection, or has no QoS 1 for anyone.
    var mayBeAboutRow: Bool {
        switch broker?.source {
        case .connack: false
        case .client: broker?.code != MQTTCode.unsupportedQoS
        case .puback, .disconnect, nil: true
        }
    }

    /// - Parameters:
    ///   - retryAfter: the header of that name, in seconds.
    ///   - doubt: why the answer would not be believed if it is a 2xx.
    package init(
        status: Int, retryAfter: Double? = nil, doubt: Doubt? = nil,
        rejecting rejections: Verdict.Rejections = .meant
    ) {
        self.status = status
        self.doubt = (200...299).contains(status) ? doubt : nil
        verdict = Verdict(
            status: status, retryAfter: retryAfter, doubt: self.doubt, rejecting: rejections)
        size =
            switch status {
            case 408: .tooSlow
            case 413: .tooLarge
            default: .irrelevant
            }
    }
}
