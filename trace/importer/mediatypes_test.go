package importer_test

import (
	"strings"
	"testing"
)

// A part with media whose members have another type than its format has is listed, and one that looptape reads is not.
func TestMediaOfOtherTypesAreReported(t *testing.T) {
	in := func(form string) func(part string) string {
		return func(part string) string { return strings.Replace(form, "PART", part, 1) }
	}
	const end = `"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[PART]}]"}}]}]}]}]}`
	list := in(`[{"role":"user","content":[{"type":"text","text":"q"},PART]},{"role":"assistant","content":"a"}]`)
	blocks := in(`[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[PART]}]}]`)
	items := in(`[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"},PART]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]`)
	contents := in(`{"contents":[{"role":"user","parts":[{"text":"q"},PART]},{"role":"model","parts":[{"text":"a"}]}]}`)
	bedrock := in(`[{"role":"user","content":[{"text":"q"},PART]},{"role":"assistant","content":[{"text":"a"}]}]`)
	local := in(`{"model":"m","options":{"num_ctx":3},"messages":[{"role":"user","content":"q","images":PART}]}`)
	human := in(`[{"type":"human","content":[{"type":"text","text":"q"},PART],"additional_kwargs":{}},{"type":"ai","content":"a","additional_kwargs":{}}]`)
	ui := in(`[{"id":"1","role":"user","parts":[{"type":"text","text":"q"},PART]},{"id":"2","role":"assistant","parts":[{"type":"text","text":"a"}]}]`)
	sample := func(part string) string {
		return inspectLog(`{"id":1,"messages":[{"role":"user","content":[` + part + `]},{"role":"assistant","content":"a"}]}`)
	}
	otel := func(part string) string {
		return strings.Replace(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","name":"chat m",`+end, "PART", strings.ReplaceAll(part, `"`, `\"`), 1)
	}
	openInference := in(`[{"context":{"trace_id":"1","span_id":"1"},"attributes":{"openinference.span.kind":"LLM","llm.input_messages":[{"message":{"role":"user","contents":[{"message_content":PART}]}}],"llm.output_messages":[{"message":{"role":"assistant","content":"a"}}]}}]`)
	adk := in(`{"id":"s","app_name":"a","user_id":"u","events":[{"author":"user","content":{"role":"user","parts":[{"text":"q"},PART]}},{"author":"a","content":{"role":"model","parts":[{"text":"a"}]}}]}`)
	atif := in(`{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a"},"steps":[{"step_id":1,"source":"user","message":[PART]},{"step_id":2,"source":"agent","message":"a"}]}`)
	speech := in(`[{"role":"user","content":"q"},{"role":"assistant","content":"a","audio":PART}]`)
	overHTTP := func(url, sent, got string) func(string) string {
		return func(part string) string { return typed(url, strings.Replace(sent, "PART", part, 1), got) }
	}
	chatHTTP := overHTTP(chatURL, `{"model":"m","messages":[{"role":"user","content":[PART]}]}`, `{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`)
	geminiHTTP := overHTTP(gemini, `{"contents":[{"role":"user","parts":[PART]}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"text":"b"}]},"finishReason":"STOP"}]}`)

	const media = "media that are not read: "
	for _, c := range []struct {
		file       func(part string) string
		part, want string
	}{
		{list, `{"type":"image_url","image_url":{"url":"u","detail":"low"}}`, ""},
		{list, `{"type":"image_url","image_url":"u"}`, ""}, // of Mistral
		{list, `{"type":"image_url","image_url":7}`, media + "image_url is 7: want a string"},
		{list, `{"type":"image_url","image_url":{"url":["u"]}}`, media + "image_url.url is a list"},
		{list, `{"type":"image_url","image_url":{"url":"u","detail":7}}`, media + "image_url.detail is 7"},
		{list, `{"type":"image_url","img":{"url":"u"}}`, media + `the part is nested in the member "img"`},
		{list, `{"type":"image_url","picture":"u"}`, media + `the part has no member that is read, and has "picture"`},
		{list, `{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}`, ""},
		{list, `{"type":"input_audio","input_audio":{"data":{"b":"AAAA"},"format":"wav"}}`, media + `input_audio.data has no member that is read, and has "b"`},
		{list, `{"type":"file","file":{"file_id":"f"}}`, ""},
		{list, `{"type":"file","file":"f"}`, media + "file is a string: want an object"},
		{list, `{"type":"document","document":{"id":"1","data":{"title":"t"}}}`, ""}, // of Cohere
		{list, `{"type":"image","image":{"0":137,"1":80}}`, ""},                      // a Uint8Array
		{list, `{"type":"file","data":{"type":"Buffer","data":[1,2]},"mediaType":"m"}`, ""},
		{list, `{"type":"file","data":{"value":"AAAA"},"mediaType":"m"}`, media + `data has no member that is read, and has "value"`},
		{list, `{"type":"file","data":"AAAA","mediaType":7}`, media + "mediaType is 7"},
		{blocks, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`, ""},
		{blocks, `{"type":"image","source":{"type":"file","file_id":"f"}}`, ""},
		{blocks, `{"type":"document","source":{"type":"content","content":[{"type":"text","text":"z"}]},"title":"t"}`, ""},
		{blocks, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":{"b":"AAAA"}}}`, media + "source.data is an object"},
		{blocks, `{"type":"image","source":{"type":"file","file_id":7}}`, media + "source.file_id is 7"},
		{blocks, `{"type":"document","source":{"type":"content","content":["z"]}}`, media + "source.content[0] is a string"},
		{items, `{"type":"input_image","file_id":"f"}`, ""},
		{items, `{"type":"input_file","file_id":7}`, media + "file_id is 7"},
		{items, `{"type":"input_image","image_url":"u","detail":{"d":1}}`, media + "detail is an object"},
		{contents, `{"inline_data":{"mime_type":"image/png","data":"AAAA"}}`, ""},
		{adk, `{"inlineData":7}`, media + "inlineData is 7"},
		{contents, `{"inlineData":7}`, "expected an object at contents[0].parts[1].inlineData"},
		{adk, `{"inlineData":{"mimeType":"image/png","data":["AAAA"]}}`, media + "inlineData.data is a list"},
		{adk, `{"fileData":{"mimeType":"image/png","fileUri":7}}`, media + "fileData.fileUri is 7"},
		{contents, `{"fileData":{"mimeType":"image/png","uri":"u"}}`, media + `fileData has no member that is read, and has "uri"`},
		{adk, `{"fileData":{"mimeType":"image/png","fileUri":"u"}}`, ""},
		{adk, `{"fileData":"u"}`, media + "fileData is a string"},
		{bedrock, `{"image":{"format":"png","source":{"bytes":"AAAA"}}}`, ""},
		{bedrock, `{"document":{"format":"pdf","name":"x","source":{"s3Location":{"uri":"u"}}}}`, ""},
		{bedrock, `{"image":"AAAA"}`, media + "image is a string"},
		{bedrock, `{"video":{"format":"mp4","source":{"bytes":7}}}`, media + "video.source.bytes is 7"},
		{local, `["AAAA"]`, ""},
		{local, `["AAAA",7]`, media + "[1] is 7: want a string"},
		{local, `"AAAA"`, media + "the part is a string: want a list"},
		{human, `{"type":"image","source_type":"base64","data":"AAAA","mime_type":"image/png"}`, ""},
		{human, `{"type":"audio","base64":"AAAA","mime_type":"audio/wav"}`, ""},
		{human, `{"type":"audio","base64":7,"mime_type":"audio/wav"}`, media + "base64 is 7"},
		{ui, `{"type":"file","url":"u","mediaType":"image/png"}`, ""},
		{ui, `{"type":"file","url":{"u":1},"mediaType":"image/png"}`, media + "url is an object"},
		{sample, `{"type":"audio","audio":"AAAA","format":"wav"}`, ""},
		{sample, `{"type":"image","image":7}`, media + "image is 7"},
		{sample, `{"type":"video","video":["AAAA"],"format":"mp4"}`, media + "video[0] is a string"},
		{otel, `{"type":"blob","modality":"image","mime_type":"image/png","content":"AAAA"}`, ""},
		{otel, `{"type":"blob","modality":"image","mime_type":"image/png","content":7}`, media + "content is 7"},
		{otel, `{"type":"uri","modality":7,"mime_type":"image/png","uri":"u"}`, media + "modality is 7"},
		{openInference, `{"type":"image","image":{"image":{"url":"u"}}}`, ""},
		{openInference, `{"type":"image","image":{"image":{"url":7}}}`, media + "message_content.image.image.url is 7"},
		{openInference, `{"type":"audio","audio":{"audio":{"uri":"u"}}}`, media + "the part has no member that is read"},
		{atif, `{"type":"image","source":{"media_type":"image/png","path":"p"}}`, ""},
		{atif, `{"type":"image","source":{"media_type":7,"path":"p"}}`, `unknown kind "atif.image"`},
		{speech, `{"id":"audio_1"}`, ""},
		{speech, `7`, media + "the part is 7: want an object"},
		{speech, `{"data":["AAAA"]}`, media + "data is a list"},
		{chatHTTP, `{"type":"image_url","image_url":{"url":"u"}}`, ""},
		{chatHTTP, `{"type":"file","file":{"file_id":7}}`, media + "file.file_id is 7"},
		{chatHTTP, `{"type":"image_url","image_url":{"url":"u","detail":7}}`, media + "image_url.detail is 7"},
		{geminiHTTP, `{"fileData":{"mimeType":"image/png","fileUri":"u"}}`, ""},
		{geminiHTTP, `{"fileData":{"mimeType":"image/png","uri":"u"}}`, media},
	} {
		isReported(t, c.part, c.file(c.part), c.want)
	}
}
