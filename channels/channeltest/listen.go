package channeltest

import (
	"net"
	"net/http"
	"net/http/httptest"
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

// RoundTrip implements [http.RoundTripper].
func (d Direct) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}
