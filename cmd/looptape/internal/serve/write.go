package serve

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/looptape/looptape/loop"
)

// readDelay is the time in which a client reads something of what is written to it. Otherwise a client
// that reads nothing could hold a connection for ever.
const readDelay = time.Minute

// limitedListener is a listener whose connections fail if the client does not read.
type limitedListener struct{ net.Listener }

func (l limitedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return limitedConn{c}, nil
}

// limitedConn is a connection with a write deadline, which each byte extends.
type limitedConn struct{ net.Conn }

func (c limitedConn) Write(p []byte) (n int, err error) {
	for {
		if err := c.SetWriteDeadline(loop.SystemClock{}.Now().Add(readDelay)); err != nil {
			return n, err
		}
		written, err := c.Conn.Write(p[n:])
		n += written
		if written == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}
