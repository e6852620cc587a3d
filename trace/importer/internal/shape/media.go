package shape

import (
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/internal/jsonio"
)

// Media calls add for each value of another type in a part with an image, audio, a video, a document or a file, and
// for a part with other data only. The kind is "" unless its members are those of one form, which is a key of media.
func Media(kind string, part json.RawMessage, add func(format string, args ...any)) {
	w := walker{text: part, d: jsonio.NewDec(jsonio.View(part)), root: "the part", add: func(format string, args ...any) {
		add("media that are not read: %s", fmt.Sprintf(format, args...))
	}}
	w.value(media[kind])
}

// media are the shapes of parts: of OpenAI, Mistral, Anthropic, Bedrock Converse, Cohere, the AI SDK, LangChain, Inspect, ATIF
// and OpenTelemetry together, whose members differ in their names, and the shapes of others.
var media = map[string]any{
	"":              mediaPart,
	"images":        list{either{text, mediaPart}}, // of a message of Ollama or OpenRouter
	"message.audio": object{"id": text, "data": text, "transcript": text, "format": nil, "expiresAt": nil},
	"converse":      object{"image": mediaObject(nil), "document": mediaObject(nil), "video": mediaObject(nil), "audio": mediaObject(nil)},
	"gemini": object{
		"inlineData": object{"data": text, "mimeType": about{text}, "displayName": about{text}},
		"fileData":   object{"fileUri": text, "mimeType": about{text}, "displayName": about{text}},
	},
	"openinference": object{
		"message_content.type": about{text}, "message_content.text": text,
		"message_content.image.image.url": text, "message_content.audio.audio.url": text,
		"message_content.audio.audio.mime_type": about{text}, "message_content.audio.audio.transcript": text,
	},
}

var (
	mediaPart = mediaObject(object{
		"image": mediaValue, "audio": mediaValue, "video": mediaValue, "document": mediaValue, "file": mediaObject(nil),
		"imageUrl": mediaValue, "audioUrl": mediaValue, "videoUrl": mediaValue, "documentUrl": mediaValue, "inputAudio": either{text, mediaObject(nil)}, "outputAudio": mediaObject(nil),
		"content": text,
	})
	mediaValue  = either{text, mediaObject(object{"data": either{text, list{count}, object{open: nil}}}), list{count}}
	mediaSource = object{
		"type": about{text}, "mediaType": about{text}, "data": text, "url": text, "fileId": text, "path": text,
		"bytes": text, "text": text, "content": either{text, list{object{"type": about{text}, "text": text, "source": object{open: nil}}}}, "s3Location": object{"uri": text, "bucketOwner": about{text}},
	}
	// mediaBytes are a Uint8Array or a Buffer of JavaScript, or a tagged value of the AI SDK.
	mediaBytes = object{"0": nil, "data": nil, "url": nil, "reference": nil, "type": about{text}}
)

// mediaObject returns the shape of an object with media, which has other members too.
func mediaObject(others object) object {
	o := object{"data": either{text, list{count}, mediaBytes}, "source": mediaSource, "0": nil}
	for _, name := range []string{"url", "uri", "fileId", "fileData", "fileUrl", "base64", "base64Data", "path", "text", "id"} {
		o[name] = text
	}
	for _, name := range []string{"type", "title", "name", "context", "filename", "format", "detail", "documentName", "mimeType", "mediaType", "sourceType", "modality", "transcript"} {
		o[name] = about{text}
	}
	for name, shape := range others {
		o[name] = shape
	}
	return o
}
