package providers

import (
	"strings"

	"clawbot/agentcore"
	"clawbot/internal/lazyregexp"
)

// overflow matches how vendors and servers say that a request is longer than
// the model's window.
var overflow = lazyregexp.New(`(?i)` + strings.Join([]string{
	`prompt (?:is )?too long`,
	`input (?:is )?too long`,
	`input (?:token count|length)[^.]{0,80}exceed`,
	`context[ _-]?(?:length|window|size|limit)[ _]?exceeded`,
	`exceed[a-z]*[^.]{0,60} (?:context|maximum (?:allowed )?input|max(?:imum)? (?:prompt|sequence|model) length|max_seq_len|max_model_len)`,
	`context[ _](?:length|window|size|limit)[^.]{0,40} exceed`,
	`(?:longer|larger|bigger|greater) than the (?:model'?s?|maximum) [^.]{0,30}(?:context|length|window)`,
	`(?:longer|larger|bigger|greater) than the context (?:length|window|size)`,
	`loaded with (?:a )?context length of`,
	`tokens?\b[^.]{0,60} exceeds? (?:the )?model'?s? (?:token )?limit`,
	`(?:inputs|prompt|messages)\W{0,2} must have (?:less|fewer) than \d+ tokens`,
	`(?:prompt|input|conversation) (?:exceeds|has|of) \d+k? tokens`,
	`maximum context length is`,
	`maximum prompt length is`,
	`with \d+ maximum context length`,
	`context_exceeded|exceed_context_size|model_max_prompt_tokens_exceeded`,
	`exceeded model token limit`,
	`reduce the length of (?:the|your) (?:messages|prompt|input)`,
	`too many (?:input |prompt )?tokens`,
	`inputs?\W{0,3} tokens \+ .{0,3}max_new_tokens`,
	`range of input length should be`,
	`context overflow`,
	`request_too_large`,
	`token limit exceeded`,
}, "|"))

// notOverflow takes out what sounds alike: rates, and an output limit that is
// set too high.
var notOverflow = lazyregexp.New(`(?i)per (?:minute|min|day|hour|second)|rate.?limit|\btpm\b|max_(?:completion_|output_)?tokens\W{0,2} (?:is|are|must|value)|completion tokens\.?$`)

var (
	spentQuota  = lazyregexp.New(`(?i)insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|credit balance is too low|out of credits|billing[_ ](?:hard_limit|not_active|details)|payment required|requires more credits|no (?:remaining )?credits|spend(?:ing)? limit|account (?:is )?(?:in arrears|suspended)|exceeded_current_quota`)
	badKey      = lazyregexp.New(`(?i)(?:invalid|incorrect|missing|expired|revoked|malformed|unknown|wrong)[^.]{0,20} (?:x-)?api[ _-]?key|api[ _-]?key[^.]{0,20} (?:invalid|incorrect|missing|expired|revoked|not (?:valid|found|provided|set))|api_key_invalid|invalid_api_key|authentication[_ ](?:error|failed|fails|required)|unauthenticated|unauthorized|invalid (?:bearer |access |auth\w* )?token|oauth authentication`)
	noModel     = lazyregexp.New(`(?i)model[_ ]not[_ ](?:found|exist)|(?:model|deployment)[^.]{0,80}(?:not found|does not exist|doesn't exist|not exist|is not supported|not available|not a valid)|unknown model|invalid[_ ]model|not a valid model|no such model|deploymentnotfound|does not have access to model|no endpoints found|not_found_error .{0,10}model:`)
	rateLimited = lazyregexp.New(`(?i)rate[_ -]?limit|too[_ ]many[_ ]requests|resource[_ ]exhausted|request limit reached|throttl|slow down`)
	overloaded  = lazyregexp.New(`(?i)overload|unavailable|server[_ ]error|internal[_ ](?:server[_ ])?error|api_error|timed?[_ ]?out|bad gateway|capacity|try again|server (?:is )?busy|upstream|connection (?:reset|error|closed)|econnreset|network_error|insufficient_system_resource`)
	refused     = lazyregexp.New(`(?i)content[_ ](?:policy|filter|management)|responsible ai|safety (?:system|filter)|data_inspection|moderation|prohibited content|usage polic`)
)

// Classify says what kind of failure f is and whether the same call may
// succeed if made again. It knows nothing of the provider's configuration; a
// [Client] adds that.
func Classify(f Failure) (class agentcore.ErrorClass, retryable bool) {
	text := f.Type + " " + f.Code + " " + f.Message
	switch {
	case isOverflow(f, text):
		return agentcore.ErrContextOverflow, false
	case f.Status == 402, f.Status != 401 && spentQuota.MatchString(text) && !strings.Contains(text, "RESOURCE_EXHAUSTED"):
		return agentcore.ErrQuota, false
	case f.Status == 407:
		return agentcore.ErrNetwork, false
	case f.Status == 401, f.Status == 403 && !refused.MatchString(text) && !noModel.MatchString(text):
		return agentcore.ErrAuth, false
	case (f.Status == 0 || f.Status == 400 || f.Status == 200) && badKey.MatchString(text):
		return agentcore.ErrAuth, false
	case f.Status == 429:
		return agentcore.ErrRateLimited, true
	case f.Status == 408 || f.Status == 425:
		return agentcore.ErrNetwork, true
	case f.Status == 409:
		return agentcore.ErrOverloaded, true
	case f.Status == 501 || f.Status == 505:
		return agentcore.ErrNotFound, false
	case f.Status >= 500:
		return agentcore.ErrOverloaded, true
	case f.Status == 404 || f.Status == 405 || f.Status == 410:
		return agentcore.ErrNotFound, false
	case f.Status >= 300 && f.Status < 400:
		return agentcore.ErrBadResponse, false
	case noModel.MatchString(text):
		return agentcore.ErrNotFound, false
	case refused.MatchString(text):
		return agentcore.ErrRefused, false
	case f.Status >= 400, strings.Contains(text, "invalid_request") || strings.Contains(text, "INVALID_ARGUMENT"):
		return agentcore.ErrBadRequest, false
	case rateLimited.MatchString(text):
		return agentcore.ErrRateLimited, true
	case overloaded.MatchString(text):
		return agentcore.ErrOverloaded, true
	}
	return agentcore.ErrBadResponse, true
}

func isOverflow(f Failure, text string) bool {
	switch f.Status {
	case 401, 402, 403, 404, 407, 408, 409, 429:
		return false
	case 413:
		return true
	}
	if f.Code == "1261" {
		return true
	}
	return overflow.MatchString(text) && !notOverflow.MatchString(text)
}
