//! The words of a failed API request, and what they say where no field does.

use super::words::words;

// The document's keywords and the CLI's own phrases. A status may touch letters (`HTTP429`) but no digits, so that
// `4290000` is no 429; it is the group of its pattern.
words! {
    pub(super) RATE_LIMIT = r"(?i)(?:^|\D)(429)(?:\D|$)|rate[ _-]?limit|\bhit your (?:\w+ )?limit|usage limit reached|too many requests";
    pub(super) AUTH = r"(?i)(?:^|\D)(40[137])(?:\D|$)|unauthori[sz]ed|authenticat|\bauth\b|auth[ _-]error|anthropic_api_key|(?:invalid|incorrect) api key|api key not valid|api_key_invalid|not logged in|/login\b|does not have access to claude|disabled claude subscription";
    pub(super) OVERLOADED = r"(?i)overloaded|(?:^|\D)(529)(?:\D|$)|at capacity";
    /// The request did not get through, or what came back was cut or is no answer of the API.
    pub(super) CONNECTION = r"(?ix)connection|econn|socket|unable\ to\ connect|can't\ reach|timed?\ ?out|\bterminated\b|network|dns|getaddrinfo
        | fetch\ failed|malformed_http|premature\ close|stream\ (?:ended|closed|truncated)|streamtruncated|connection\ (?:dropped|closed)|\bhang\ up\b|broken\ pipe|\bepipe\b
        | without\ receiving\ any\ events|empty\ or\ malformed\ response|content\ block\ not\ found|unexpected\ event\ order
        | json\ parse|parse\ error|unexpected\ (?:token|eof|end\ of\ (?:json|input|file|stream))|not\ valid\ json|invalid\ json|incomplete\ json|unterminated\ string|no\ internet|error\ sending\ request";
    pub(super) CONTEXT_WINDOW = r"(?i)prompt is too long|context (?:window|length)|too many (?:input )?tokens|maximum number of (?:input )?tokens|exceeds? the context";
    pub(super) BILLING = r"(?i)credit balance|billing|payment|\busage limits\b";
    pub(super) MAX_OUTPUT = r"(?i)output token maximum|max_output_tokens";
    pub(super) SERVER = r"(?i)(?:^|\D)(5\d\d)(?:\D|$)|server-side|internal server error|api_error";
    pub(super) INVALID = r"(?i)(?:^|\D)(4(?:00|13|22))(?:\D|$)|invalid_request|bad request|request[ _]too[ _]large";
    pub(super) MODEL = r"(?i)selected model|model_not_found|(?:^|\D)(404)(?:\D|$)|\bmodel\b[^.]{0,60}\b(?:does not exist|not found)|requested entity was not found";
    pub(super) REFUSAL = r"(?i)unable to respond to this request|usage policy|content[ _-]?filter";
    // What a refused request says of itself beyond `invalid_request`.
    /// The account has no credit left, or has reached the limit that its owner set.
    pub(super) NO_CREDIT = r"(?i)\busage limits?\b|credit balance|spend(?:ing)? limit|out of (?:credits?|funds)|insufficient (?:credits?|funds|quota|balance)|purchase credits|plans & billing";
    /// The account may not use the API any more.
    pub(super) DISABLED = r"(?ix)\b(?:organi[sz]ation|account|workspace|api\ key)\b[^.]{0,40}\b(?:disabled|suspended|deactivated|revoked)\b
        | \b(?:disabled|suspended|deactivated)\ (?:organi[sz]ation|account|workspace)";
    pub(super) CONTENT_FILTER = r"(?i)content[ _-]?filter|blocked by (?:our |the )?(?:content|safety|usage) (?:\w+ )?polic";
    // Why nothing was reached, which no provider can help.
    /// Nobody listens there, or there is no way to it.
    pub(super) UNREACHABLE = r"(?ix)\beconnrefused\b|connection\ ?refused|\benotfound\b|\beai_\w+|getaddrinfo|failedtoopensocket|\b(?:enet|ehost)(?:unreach|down)\b|\beaddrnotavail\b
        | no\ (?:internet\ )?route|can't\ reach\ the\ api\ server|network\ is\ unreachable|host\ is\ unreachable|(?:unknown|no\ such)\ host|name\ (?:or\ service\ )?not\ known|name\ resolution
        | could\ not\ resolve|\bdns\ (?:error|failure|lookup)|failed\ to\ lookup\ address";
    /// The address or the way of speaking is wrong, and stays so.
    pub(super) MISCONFIGURED = r"(?ix)\binvalid\ (?:base\ )?url\b|cannot\ be\ parsed\ as\ a\ url|failed\ to\ parse\ url|err_invalid_(?:url|arg_value|protocol)|unsupported\ (?:protocol|scheme)|relative\ url\ without\ a\ base|builder\ error
        | \beproto\b|\berr_(?:ssl|tls)_|wrong\ version\ number|certificate|\bcert_\w+|unable_to_(?:verify|get_issuer)|self[\ _-]?signed
        | \b(?:ssl|tls)\b[^.]{0,40}\b(?:error|failed|failure|alert|packet|record)";
}
