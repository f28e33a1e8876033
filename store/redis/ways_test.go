package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clawbot/internal/redistest"
)

// certificate makes one for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redistest"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der := must(x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private))(t)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	check(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	check(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(private))(t)}), 0o600))
	return cert, key
}

func TestOverTLS(t *testing.T) {
	cert, key := certificate(t)
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	check(t, l.Close())
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	conversation(t, open(t, quietly("rediss://"+addr+"?ca_file="+cert)), "s", nil)
	refused(t, quietly("rediss://"+addr), "ca_file")
	refused(t, quietly("rediss://localhost:"+port+"?ca_file="+cert), "certificate")
	refused(t, quietly("redis://"+addr), "redis at")
}

func TestASentinelFindsThePrimary(t *testing.T) {
	primary := redistest.Start(t)
	_, port, _ := net.SplitHostPort(primary.Addr)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	check(t, os.WriteFile(conf, []byte("sentinel monitor main 127.0.0.1 "+port+" 1\n"), 0o600))
	sentinel := redistest.StartSentinel(t, conf)
	conversation(t, open(t, quietly("redis-sentinel://"+sentinel.Addr+"/main/2")), "s", nil)
	if n := command(t, primary.Addr, "DBSIZE"); n != int64(0) {
		t.Errorf("database 0 has %v keys", n)
	}
	refused(t, quietly("redis-sentinel://"+sentinel.Addr+"/other"), "sentinel")
	refused(t, quietly("redis://"+sentinel.Addr), "redis-sentinel://")
	refused(t, quietly(strings.Replace("redis-sentinel://X/main", "X", primary.Addr, 1)), "sentinel")
}
