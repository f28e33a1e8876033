package channeltest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
)

// listen opens a fake's address, none if calls come from within the process. It
// panics when it can't.
func listen(addr string, inProcess bool) net.Listener {
	if inProcess {
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		panic("channeltest: listen: " + err.Error())
	}
	return l
}

func addressOf(l net.Listener) string {
	if l == nil {
		return "http://in.process"
	}
	return "http://" + l.Addr().String()
}

// Direct is a transport that calls a fake without a network, so that a
// testing/synctest bubble's time passes while calls are made.
type Direct struct{ http.Handler }

// RoundTrip implements [http.RoundTripper]. A handler that breaks the connection
// off is an error, after the request was sent.
func (d Direct) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				panic(p)
			}
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	d.ServeHTTP(w, req)
	resp = w.Result()
	resp.Request = req
	return resp, nil
}
