package smf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
)

// Part is a binary part of a message of the service-based interfaces: NAS (N1) or NGAP (N2), by its Content-Id.
type Part struct {
	ID, Type string
	Octets   []byte
}

const (
	typeNAS  = "application/vnd.3gpp.5gnas"
	typeNGAP = "application/vnd.3gpp.ngap"
)

// encode builds a body of JSON, or of multipart/related where there are parts, and its type.
func encode(data any, parts ...Part) ([]byte, string) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // built from literals of this program
	}
	if len(parts) == 0 {
		return text, "application/json"
	}
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	add := func(part Part) {
		header := textproto.MIMEHeader{"Content-Type": {part.Type}}
		if part.ID != "" {
			header["Content-Id"] = []string{part.ID}
		}
		out, _ := writer.CreatePart(header)
		_, _ = out.Write(part.Octets)
	}
	add(Part{Type: "application/json", Octets: text})
	for _, part := range parts {
		add(part)
	}
	_ = writer.Close()
	return body.Bytes(), fmt.Sprintf("multipart/related; boundary=%q", writer.Boundary())
}

// decode reads what encode builds: the JSON, and the octets of each part by its Content-Id.
func decode(contentType string, body io.Reader) (map[string]any, map[string][]byte, error) {
	data, parts := map[string]any{}, map[string][]byte{}
	kind, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/related" {
		err := json.NewDecoder(body).Decode(&data)
		if err == io.EOF {
			err = nil
		}
		return data, parts, err
	}
	reader := multipart.NewReader(body, parameters["boundary"])
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return data, parts, nil
		}
		if err != nil {
			return data, parts, err
		}
		octets, err := io.ReadAll(part)
		if err != nil {
			return data, parts, err
		}
		if id := part.Header.Get("Content-Id"); id != "" {
			parts[id] = octets
		} else if err := json.Unmarshal(octets, &data); err != nil {
			return data, parts, err
		}
	}
}

// at follows keys into nested JSON objects; it gives nil where one is missing.
func at(data any, keys ...string) any {
	for _, key := range keys {
		object, _ := data.(map[string]any)
		data = object[key]
	}
	return data
}

// text is at, as a string.
func text(data any, keys ...string) string {
	value, _ := at(data, keys...).(string)
	return value
}
