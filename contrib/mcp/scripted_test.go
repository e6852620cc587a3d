package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looptape/looptape/internal/child"
)

// serveStdio serves standard input and output.
func serveStdio(name string) {
	if name == "sdk" {
		if err := newServer(nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	s := &scripted{in: bufio.NewReader(os.Stdin), out: os.Stdout}
	s.serve()
}

// scripted is a server of 2025-11-25 whose tools misbehave. Variables of the environment change what it
// sends: VERSION is its protocol version, LIST the result of tools/list, in which CURSOR becomes the
// cursor of the request, and SILENT a method that it does not answer.
type scripted struct {
	in      *bufio.Reader
	out     io.Writer
	changed bool
}

const scriptedTools = `{"tools":[{"name":"pid","description":"Returns the process.","inputSchema":{"type":"object","properties":{"zebra":{"type":"integer","maximum":9007199254740993},"apple":{"type":"string"}}}}` +
	`,{"name":"die","inputSchema":{"type":"object"}},{"name":"hang","inputSchema":{"type":"object"}},{"name":"deaf","inputSchema":{"type":"object"}}` +
	`,{"name":"shut","inputSchema":{"type":"object"}},{"name":"damaged","inputSchema":{"type":"object"}},{"name":"noise","inputSchema":{"type":"object"}}` +
	`,{"name":"line","inputSchema":{"type":"object"}},{"name":"stderr","inputSchema":{"type":"object"}},{"name":"notify","inputSchema":{"type":"object"}}` +
	`,{"name":"requests","inputSchema":{"type":"object"}},{"name":"pings","inputSchema":{"type":"object"}},{"name":"raw","inputSchema":{"type":"object"}}` +
	`,{"name":"child","inputSchema":{"type":"object"}},{"name":"stay","inputSchema":{"type":"object"}},{"name":"leave","inputSchema":{"type":"object"}},{"name":"change","inputSchema":{"type":"object"}},{"name":"old","inputSchema":{"type":"object"}}]}`

// changedTools are those after a call of change.
const changedTools = `{"tools":[{"name":"new","inputSchema":{"type":"object"}},{"name":"pid","inputSchema":{"type":"object"}}]}`

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"`
		Cursor    string          `json:"cursor"`
	} `json:"params"`
}

// next returns the next message, or exits at the end of the input.
func (s *scripted) next() (m message) {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		panic(err)
	}
	return m
}

func (s *scripted) result(id json.RawMessage, result string) {
	put(s.out, `{"result":%s,"jsonrpc":"2.0","id":%s}`+"\n", result, id)
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted)
}

func (s *scripted) serve() {
	for {
		m := s.next()
		if m.Method != "" && m.Method == os.Getenv("SILENT") {
			continue
		}
		switch m.Method {
		case "initialize":
			version := cmp.Or(os.Getenv("VERSION"), "2025-11-25")
			s.result(m.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}`, version))
		case "tools/list":
			list := cmp.Or(os.Getenv("LIST"), scriptedTools)
			if s.changed {
				list = changedTools
			}
			s.result(m.ID, strings.ReplaceAll(list, "CURSOR", m.Params.Cursor))
		case "tools/call":
			s.call(m)
		case "notifications/cancelled":
			fmt.Fprintf(os.Stderr, "cancelled %s\n", m.Params.RequestID)
		default:
			if m.ID != nil && m.Method != "" {
				put(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method %s"}}`+"\n", m.ID, m.Method)
			}
		}
	}
}

func (s *scripted) call(m message) {
	const ping = `{"jsonrpc":"2.0","id":"p%d","method":"ping"}` + "\n"
	switch m.Params.Name {
	case "pid":
		s.result(m.ID, text(fmt.Sprint(os.Getpid())))
	case "raw":
		s.result(m.ID, string(m.Params.Arguments))
	case "change":
		s.changed = true
		put(s.out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n")
		s.result(m.ID, text("changed"))
	case "new":
		s.result(m.ID, text("new"))
	case "die":
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(3)
	case "hang":
		fmt.Fprintln(os.Stderr, "begun")
	case "deaf": // stops reading
		fmt.Fprintln(os.Stderr, "deaf")
		waitForSignal(syscall.SIGTERM)
	case "shut": // closes its output and stays
		_ = os.Stdout.Close()
		waitForSignal(syscall.SIGTERM)
	case "damaged":
		put(s.out, `{"result":{"content":[],"jsonrpc":"2.0","id":%s}`+"\n", m.ID)
	case "noise":
		put(s.out, "Listening on stdio …\n\n[1,2]\n{\"level\":\"info\"}\n\"text\"\n")
		s.result(m.ID, text("after noise"))
	case "line":
		writeForever(s.out, bytes.Repeat([]byte("x"), 1<<16))
	case "stderr": // writes 64 MiB
		for range 1 << 10 {
			_, _ = os.Stderr.Write(bytes.Repeat([]byte("noise\n"), 1<<16/6))
		}
		s.result(m.ID, text("done"))
	case "notify":
		fmt.Fprintln(os.Stderr, "begun")
		writeForever(s.out, []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`+"\n"))
	case "requests":
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(s.out, ping, i); err != nil {
				os.Exit(0)
			}
		}
	case "pings": // each waits for its response
		for i := range 3 * maxRequests {
			put(s.out, ping, i)
			if got := s.next(); string(got.ID) != fmt.Sprintf(`"p%d"`, i) {
				panic(fmt.Sprintf("got %+v", got))
			}
		}
		s.result(m.ID, text("done"))
	case "child":
		var args struct{ Pipe string }
		_ = json.Unmarshal(m.Params.Arguments, &args)
		cmd := exec.CommandContext(context.Background(), "sh", "-c", `trap '' TERM HUP; echo x; echo x >&2; exec sleep 1000`)
		cmd.Stdout, _ = os.OpenFile(args.Pipe, os.O_WRONLY, 0)
		written, _ := cmd.StderrPipe()
		err := cmd.Start()
		if err == nil {
			_, err = written.Read(make([]byte, 1)) // the child has written to the pipe
		}
		s.result(m.ID, text(fmt.Sprint(err)))
	case "leave": // ends, and leaves a process in a group of its own that keeps its input and output open
		cmd := exec.CommandContext(context.Background(), "sh", "-c", "echo x >&2; exec sleep 1000")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		child.Group(cmd)
		written, _ := cmd.StderrPipe()
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		_, _ = written.Read(make([]byte, 1))
		fmt.Fprintf(os.Stderr, "left %d.\n", cmd.Process.Pid)
		os.Exit(3)
	case "stay": // ignores the end of its input and SIGTERM
		signal.Ignore(syscall.SIGTERM)
		s.result(m.ID, text("staying"))
		waitForSignal(syscall.SIGINT)
	default: // such as old, which was removed
		put(s.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"unknown tool: %s"}}`+"\n", m.ID, m.Params.Name)
	}
}

func writeForever(w io.Writer, data []byte) {
	for {
		if _, err := w.Write(data); err != nil {
			os.Exit(0)
		}
	}
}

func waitForSignal(sig os.Signal) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, sig)
	<-c
	os.Exit(0)
}
