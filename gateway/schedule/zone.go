package schedule

import (
	"fmt"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // zones on machines that have no zone files
)

// Zone returns the IANA time zone of that name. The error of an unknown one
// says which may have been meant.
func Zone(name string) (*time.Location, error) {
	name = strings.TrimSpace(name)
	if name != "" && name != "Local" && len(name) <= 64 {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	if near := nearZone(name); near != "" {
		return nil, fmt.Errorf("unknown time zone %q: did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("unknown time zone %q: use an IANA name such as \"Europe/Berlin\" or \"America/Lima\", or \"UTC\"", name)
}

// HostZone is the machine's time zone, by its IANA name where the machine tells
// it.
func HostZone() *time.Location {
	names := []string{os.Getenv("TZ")}
	if to, err := os.Readlink("/etc/localtime"); err == nil {
		_, name, _ := strings.Cut(to, "zoneinfo/")
		names = append(names, name)
	}
	if data, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(data)))
	}
	now := time.Now()
	_, want := now.Zone()
	for _, name := range names {
		zone, err := time.LoadLocation(strings.TrimPrefix(name, ":"))
		if name == "" || err != nil || name == "Local" {
			continue
		}
		_, have := now.In(zone).Zone()
		switch {
		case have != want:
		case strings.HasPrefix(zone.String(), "Etc/") && want == 0:
			return time.UTC
		default:
			return zone
		}
	}
	if want == 0 {
		return time.UTC
	}
	return time.Local
}

// nearZone guesses what an unknown name stands for: another spelling, a city
// without its region, an abbreviation, a typing error.
func nearZone(name string) string {
	if name == "" || len(name) > 64 {
		return ""
	}
	if zone, ok := abbreviations[strings.ToUpper(name)]; ok {
		return zone
	}
	flat := flatten(name)
	best, least := "", 3
	for _, zone := range knownZones {
		full := flatten(zone)
		city := full[strings.LastIndexByte(full, '/')+1:]
		if full == flat || city == flat[strings.LastIndexByte(flat, '/')+1:] {
			return zone
		}
		if d := distance(flat, full, least); d < least {
			best, least = zone, d
		}
		if d := distance(flat, city, least); len(city) > 4 && d < least {
			best, least = zone, d
		}
	}
	return best
}

func flatten(name string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(name))
}

// distance is how many characters are to be changed to make b of a; most, if it
// is that many or more.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most)
}

// abbreviations are what people say instead of a zone, and the zone most of
// them mean.
var abbreviations = map[string]string{
	"PST": "America/Los_Angeles", "PDT": "America/Los_Angeles", "PT": "America/Los_Angeles",
	"MDT": "America/Denver", "MT": "America/Denver", "CST": "America/Chicago", "CDT": "America/Chicago", "CT": "America/Chicago",
	"EDT": "America/New_York", "ET": "America/New_York", "EASTERN": "America/New_York", "PACIFIC": "America/Los_Angeles",
	"BST": "Europe/London", "IST": "Asia/Kolkata", "CEST": "Europe/Berlin", "EEST": "Europe/Athens", "MSK": "Europe/Moscow",
	"JST": "Asia/Tokyo", "KST": "Asia/Seoul", "SGT": "Asia/Singapore", "HKT": "Asia/Hong_Kong", "AEST": "Australia/Sydney",
	"AEDT": "Australia/Sydney", "NZST": "Pacific/Auckland", "NZDT": "Pacific/Auckland", "BRT": "America/Sao_Paulo", "Z": "UTC",
	"GMT+0": "UTC", "UTC+0": "UTC", "UTC+1": "Etc/GMT-1", "UTC+2": "Etc/GMT-2", "UTC+3": "Etc/GMT-3", "UTC+8": "Etc/GMT-8",
	"UTC-3": "Etc/GMT+3", "UTC-5": "Etc/GMT+5", "UTC-8": "Etc/GMT+8",
}

// knownZones are those that guesses are made among. Any IANA zone can be used.
var knownZones = strings.Fields(`
Africa/Abidjan Africa/Accra Africa/Addis_Ababa Africa/Algiers Africa/Cairo Africa/Casablanca Africa/Dakar Africa/Dar_es_Salaam
Africa/Harare Africa/Johannesburg Africa/Kampala Africa/Khartoum Africa/Kinshasa Africa/Lagos Africa/Luanda Africa/Maputo
Africa/Nairobi Africa/Tripoli Africa/Tunis America/Anchorage America/Argentina/Buenos_Aires America/Asuncion America/Bogota
America/Caracas America/Chicago America/Costa_Rica America/Denver America/Detroit America/Edmonton America/El_Salvador
America/Guatemala America/Guayaquil America/Halifax America/Havana America/Jamaica America/La_Paz America/Lima America/Los_Angeles
America/Managua America/Mexico_City America/Monterrey America/Montevideo America/Montreal America/New_York America/Panama
America/Phoenix America/Port-au-Prince America/Puerto_Rico America/Santiago America/Santo_Domingo America/Sao_Paulo
America/St_Johns America/Tegucigalpa America/Tijuana America/Toronto America/Vancouver America/Winnipeg Asia/Almaty Asia/Amman
Asia/Baghdad Asia/Baku Asia/Bangkok Asia/Beirut Asia/Colombo Asia/Damascus Asia/Dhaka Asia/Dubai Asia/Ho_Chi_Minh Asia/Hong_Kong
Asia/Jakarta Asia/Jerusalem Asia/Kabul Asia/Karachi Asia/Kathmandu Asia/Kolkata Asia/Kuala_Lumpur Asia/Kuwait Asia/Manila
Asia/Muscat Asia/Nicosia Asia/Novosibirsk Asia/Qatar Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei Asia/Tashkent
Asia/Tbilisi Asia/Tehran Asia/Tokyo Asia/Ulaanbaatar Asia/Vladivostok Asia/Yangon Asia/Yekaterinburg Asia/Yerevan Atlantic/Azores
Atlantic/Canary Atlantic/Reykjavik Australia/Adelaide Australia/Brisbane Australia/Darwin Australia/Hobart Australia/Melbourne
Australia/Perth Australia/Sydney Europe/Amsterdam Europe/Athens Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels
Europe/Bucharest Europe/Budapest Europe/Chisinau Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Kyiv
Europe/Lisbon Europe/Ljubljana Europe/London Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Minsk Europe/Moscow Europe/Oslo
Europe/Paris Europe/Prague Europe/Riga Europe/Rome Europe/Samara Europe/Sarajevo Europe/Skopje Europe/Sofia Europe/Stockholm
Europe/Tallinn Europe/Tirane Europe/Vienna Europe/Vilnius Europe/Warsaw Europe/Zagreb Europe/Zurich Indian/Maldives
Indian/Mauritius Pacific/Auckland Pacific/Fiji Pacific/Guam Pacific/Honolulu Pacific/Port_Moresby`)
