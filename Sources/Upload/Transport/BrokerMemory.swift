/// What is remembered of the broker of one destination, over restarts.
package struct BrokerMemory {
    /// Whether MQTT 5 was ever accepted at this url.
    let knowsNew: (_ url: String) -> Bool
    /// Notes that MQTT 5 has been accepted at this url.
    let learnNew: (_ url: String) -> Void

    package init(knowsNew: @escaping (_ url: String) -> Bool, learnNew: @escaping (_ url: String) -> Void) {
        (self.knowsNew, self.learnNew) = (knowsNew, learnNew)
    }

    /// A memory that does not outlive the process.
    package static var none: BrokerMemory { BrokerMemory(knowsNew: { _ in false }, learnNew: { _ in }) }
}
