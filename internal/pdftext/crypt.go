package pdftext

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" //nolint:gosec // the format's, protects nothing of ours
	"crypto/rc4" //nolint:gosec // the format's
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
)

// crypt opens the streams of files that are encrypted but can be read without a
// password (ISO 32000-1, 7.6; ISO 32000-2 for 256 bits): many forbid printing or
// copying only.
type crypt struct {
	key    []byte
	method name // V2 (RC4), AESV2, AESV3, Identity
	whole  bool // the key is every object's
}

var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// unlock finds the key of an encrypted file.
func (f *file) unlock() error {
	e, ok := f.dict(f.trailer["Encrypt"])
	if !ok {
		return nil
	}
	version, revision := int(f.number(e["V"])), int(f.number(e["R"]))
	c := &crypt{method: "V2"}
	length := int(f.number(e["Length"])) / 8
	if version < 2 || length < 5 || length > 32 {
		length = 5
	}
	if version >= 4 {
		filters, _ := f.dict(e["CF"])
		filter, _ := f.dict(filters[f.name(e["StmF"])])
		if c.method = f.name(filter["CFM"]); c.method == "" {
			c.method = "Identity"
		}
		length = 16
	}
	o, _ := f.resolve(e["O"]).(str)
	u, _ := f.resolve(e["U"]).(str)
	switch {
	case f.name(e["Filter"]) != "Standard":
		return ErrProtected
	case version == 5:
		ue, _ := f.resolve(e["UE"]).(str)
		c.key, c.whole = key256(u, ue, revision), true
	default:
		meta, given := f.resolve(e["EncryptMetadata"]).(bool)
		var id str
		if list := f.array(f.trailer["ID"]); len(list) > 0 {
			id, _ = f.resolve(list[0]).(str)
		}
		permissions := uint32(int64(f.number(e["P"])))
		c.key = key128(o, u, id, permissions, revision, length, revision >= 4 && given && !meta)
	}
	if c.key == nil {
		return ErrProtected
	}
	f.crypt = c
	return nil
}

// key128 is the key of files up to 128 bits, nil if there is a password.
func key128(o, u, id []byte, permissions uint32, revision, length int, bareMeta bool) []byte {
	if len(o) < 32 || len(u) < 16 {
		return nil
	}
	data := append(append([]byte{}, padding...), o[:32]...)
	data = binary.LittleEndian.AppendUint32(data, permissions)
	data = append(data, id...)
	if bareMeta {
		data = append(data, 0xFF, 0xFF, 0xFF, 0xFF)
	}
	sum := md5.Sum(data)
	length = min(length, 16)
	key := append([]byte{}, sum[:]...)
	if revision >= 3 {
		for range 50 {
			sum = md5.Sum(key[:length])
			copy(key, sum[:])
		}
	}
	key = key[:length]
	if revision < 3 {
		if check := unRC4(key, padding); !bytes.Equal(check, u[:min(32, len(u))]) {
			return nil
		}
		return key
	}
	sum = md5.Sum(append(append([]byte{}, padding...), id...))
	check := sum[:]
	for i := range 20 {
		turned := make([]byte, len(key))
		for j := range key {
			turned[j] = key[j] ^ byte(i)
		}
		check = unRC4(turned, check)
	}
	if !bytes.Equal(check, u[:16]) {
		return nil
	}
	return key
}

// key256 is the key of files with 256 bits, nil if there is a password.
func key256(u, ue []byte, revision int) []byte {
	if len(u) < 48 || len(ue) < 32 {
		return nil
	}
	if !bytes.Equal(hash256(u[32:40], revision), u[:32]) {
		return nil
	}
	block, err := aes.NewCipher(hash256(u[40:48], revision))
	if err != nil {
		return nil
	}
	key := make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(key, ue[:32])
	return key
}

// hash256 is algorithm 2.B of ISO 32000-2, for the empty password.
func hash256(salt []byte, revision int) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	if revision < 6 {
		return k
	}
	for round := 0; ; round++ {
		data := bytes.Repeat(k, 64)
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(data, data)
		rest := 0
		for _, c := range data[:16] {
			rest += int(c)
		}
		switch rest % 3 {
		case 0:
			h := sha256.Sum256(data)
			k = h[:]
		case 1:
			h := sha512.Sum384(data)
			k = h[:]
		default:
			h := sha512.Sum512(data)
			k = h[:]
		}
		if round >= 63 && int(data[len(data)-1]) <= round-31 {
			return k[:32]
		}
	}
}

// open decrypts a stream's data; without encryption it is as it is.
func (c *crypt) open(s *stream) []byte {
	if c == nil || c.method == "Identity" || c.method == "None" || s.dict["Type"] == name("XRef") {
		return s.data
	}
	key := c.key
	if !c.whole {
		n, g := s.id.num, s.id.gen
		data := append(append([]byte{}, key...), byte(n), byte(n>>8), byte(n>>16), byte(g), byte(g>>8))
		if c.method == "AESV2" {
			data = append(data, "sAlT"...)
		}
		sum := md5.Sum(data)
		key = sum[:min(len(key)+5, 16)]
	}
	if c.method == "V2" {
		return unRC4(key, s.data)
	}
	return unAES(key, s.data)
}

func unRC4(key, data []byte) []byte {
	c, err := rc4.NewCipher(key) //nolint:gosec // the format's
	if err != nil {
		return nil
	}
	out := make([]byte, len(data))
	c.XORKeyStream(out, data)
	return out
}

func unAES(key, data []byte) []byte {
	block, err := aes.NewCipher(key)
	if err != nil || len(data) < 2*aes.BlockSize {
		return nil
	}
	iv, body := data[:aes.BlockSize], data[aes.BlockSize:]
	out := make([]byte, len(body)/aes.BlockSize*aes.BlockSize)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, body[:len(out)])
	if n := int(out[len(out)-1]); n > 0 && n <= aes.BlockSize {
		out = out[:len(out)-n]
	}
	return out
}
