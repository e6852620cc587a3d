package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// visitor is a program that sends a request for a path to the server: with the URL of the server, without
// the token in it, as a script of a web page, as an image on a page, and under another Host. It prints
// the statuses.
func visitor() {
	base, err := url.Parse(os.Getenv("LOOPTAPE_URL"))
	if err != nil {
		panic(err)
	}
	bare := *base
	bare.Path = ""
	for _, v := range []struct {
		name string
		url  *url.URL
		edit func(*http.Request)
	}{
		{"url", base, func(*http.Request) {}},
		{"bare", &bare, func(*http.Request) {}},
		{"script", base, func(r *http.Request) { r.Header.Set("Origin", "http://page.example") }},
		{"image", base, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
		{"host", base, func(r *http.Request) { r.Host = "evil.example" }},
	} {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, v.url.String()+os.Args[1], strings.NewReader("{}"))
		if err != nil {
			panic(err)
		}
		v.edit(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		_ = resp.Body.Close() // it is not read
		_, _ = fmt.Fprintf(os.Stdout, "%s %d\n", v.name, resp.StatusCode)
	}
}

// reader is a program that reads a response and prints its size. Usage: reader [ENCODING FILE], to send a
// file as the body of the request.
func reader() {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, cmp.Or(os.Getenv("X_BASE_URL"), os.Getenv("OPENAI_BASE_URL"))+"/chat/completions", nil)
	if len(os.Args) > 1 && err == nil {
		r.Method = http.MethodPost
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Encoding", os.Args[1])
		r.Body, err = os.Open(os.Args[2])
	}
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer any-key")
	r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd") // without it, the client decodes gzip
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer func() { _ = resp.Body.Close() }() // the program ends
	if resp.StatusCode >= http.StatusBadRequest {
		_, _ = io.Copy(os.Stderr, resp.Body) // which is short
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_, _ = fmt.Fprintln(os.Stdout, n, err)
}

// sender is a program that sends a request for a path with a value in its headers. It prints nothing.
// Usage: sender PATH VALUE.
func sender() {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, os.Getenv("OPENAI_BASE_URL")+os.Args[1], strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "X-Custom", "X-Goog-Api-Key", "User-Agent"} {
		r.Header.Set(name, "Bearer "+os.Args[2])
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic("no response")
	}
	_ = resp.Body.Close() // it is not read
}
