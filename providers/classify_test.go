package providers

import (
	"testing"

	"clawbot/agentcore"
)

func TestVendorErrorsAreClassified(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		class  agentcore.ErrorClass
		retry  bool
	}{
		{400, `{"error":{"message":"prompt is too long: 209353 tokens > 199999 maximum"}}`, agentcore.ErrContextOverflow, false},
		{400, `{"message":"input length and max_tokens exceed context limit: 90402 + 116650 > 204648, decrease input length or max_tokens and try again"}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":"Input length (265330) exceeds model's maximum context length (262144)."}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"message":"Input length 131393 exceeds the maximum allowed input length of 131040 tokens."}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"code":"1261","message":"Prompt too long"}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"type":"context_exceeded","message":"Prompt tokens (9000) exceeds context size (8192)"}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens."}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error"}}`, agentcore.ErrContextOverflow, false},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, agentcore.ErrContextOverflow, false},
		{400, `{"object":"error","message":"Prompt contains 70000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096."}}`, agentcore.ErrContextOverflow, false},
		{400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}`, agentcore.ErrContextOverflow, false},

		{429, `{"error":{"message":"Rate limit reached: too many tokens per minute, limit 30000"}}`, agentcore.ErrRateLimited, true},
		{400, `{"error":{"message":"max_tokens is too large: 999999. This model supports at most 16384 completion tokens"}}`, agentcore.ErrBadRequest, false},
		{400, `{"error":{"message":"messages.3: tool_use ids were found without tool_result blocks"}}`, agentcore.ErrBadRequest, false},
		{400, `{"error":{"message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"}}`, agentcore.ErrBadRequest, false},

		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, agentcore.ErrAuth, false},
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`, agentcore.ErrAuth, false},
		{403, `{"error":{"message":"Your account may not use this"}}`, agentcore.ErrAuth, false},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, agentcore.ErrQuota, false},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}`, agentcore.ErrRateLimited, true},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, agentcore.ErrQuota, false},
		{402, `{"error":{"message":"Insufficient Balance"}}`, agentcore.ErrQuota, false},
		{404, `{"error":"model \"llama9\" not found, try pulling it first"}`, agentcore.ErrNotFound, false},
		{400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, agentcore.ErrNotFound, false},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, agentcore.ErrOverloaded, true},
		{0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, agentcore.ErrOverloaded, true},
		{502, `<html><head><title>502 Bad Gateway</title></head></html>`, agentcore.ErrOverloaded, true},
		{408, ``, agentcore.ErrNetwork, true},
		{409, ``, agentcore.ErrOverloaded, true},
		{407, ``, agentcore.ErrNetwork, false},
		{0, `{"code":502,"message":"Worker local total request limit reached","metadata":{"error_type":"provider_unavailable"}}`, agentcore.ErrOverloaded, true},
		{0, `{"message":"tool call validation failed","type":"invalid_request_error","code":"tool_use_failed","status_code":400}`, agentcore.ErrBadRequest, false},
		{0, `{"type":"error","code":"rate_limit_exceeded","message":"Rate limit reached for tokens","param":null}`, agentcore.ErrRateLimited, true},
		{0, `{"code":"server_error","message":"The model failed to generate a response."}`, agentcore.ErrOverloaded, true},
		{400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}`, agentcore.ErrRefused, false},
		{422, `{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}`, agentcore.ErrBadRequest, false},
	} {
		f := ParseFailure(c.status, []byte(c.body))
		class, retry := Classify(f)
		if class != c.class || retry != c.retry {
			t.Errorf("%d %s\n\tis %q retryable %v, want %q %v (%+v)", c.status, c.body, class, retry, c.class, c.retry, f)
		}
		if c.body != "" && f.Message == "" {
			t.Errorf("no message from %s", c.body)
		}
	}
}

func TestAFailureNamesTheFieldThatItIsAbout(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted","input":{}}]}`:                                "stream_options: Extra inputs are not permitted",
		`{"object":"error","message":{"detail":[{"loc":["body","messages",0,"content"],"msg":"Field required"},{"loc":["body","model"],"msg":"Field required"}]}}`: "messages.0.content: Field required: model: Field required",
		`{"detail":"Not Found"}`: "Not Found",
	} {
		if got := ParseFailure(422, []byte(body)).Message; got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
