internal import CCurl

extension HTTPClient {
    /// What became of the TLS handshake of a request that has ended.
    func handshake(
        _ handle: UnsafeMutableRawPointer, _ code: CURLcode, _ transfer: Transfer
    ) -> SessionLifetime.Handshake {
        // It arrived through TLS: the headers of a proxy are left out.
        if transfer.response.hasBegun { return .done }
        switch code {
        case CURLE_OK: return .done
        case CURLE_SSL_CONNECT_ERROR: return .refused
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CLIENTCERT:
            return .doubtful
        default: break
        }
        var (connections, connected, secured) = (0, curl_off_t(0), curl_off_t(0))
        _ = ccurl_get_long(handle, CURLINFO_NUM_CONNECTS, &connections)
        _ = ccurl_get_offset(handle, CURLINFO_CONNECT_TIME_T, &connected)
        _ = ccurl_get_offset(handle, CURLINFO_APPCONNECT_TIME_T, &secured)
        // None was due on a connection that was there, and none can have begun on one that was not.
        guard connections > 0, connected > 0 else { return .unreached }
        // Once it is complete, only a lost connection may be its fault; a slow answer is not.
        let isLost = code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING
        return secured == 0 || isLost ? .doubtful : .done
    }
}
