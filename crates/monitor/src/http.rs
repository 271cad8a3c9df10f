//! A server for one page. It takes requests of a bounded length, in a bounded time and of a bounded number of peers, and sends one answer to
//! each: all that Prometheus needs, and nothing that others could hold up.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::exchange::Answer;
use crate::metrics::Format;
use crate::peers::{Peers, peers_max};

/// Connections that the kernel keeps until they are taken: all that it allows unless it was told otherwise (net.core.somaxconn). With
/// std's 128, few who connect again and again keep others from it.
const WAITING_MAX: i32 = 4096;

/// What the page at `/` says.
const FRONT: &str = "plimsoll monitor: metrics are at /metrics\n";

/// Answers requests for metrics.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Listens at that address from now on.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        rustix::net::listen(&listener, WAITING_MAX)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// Returns where it listens: the port is chosen by the kernel where none was given.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers requests, for ever. The page should be one in memory: meanwhile nobody else is answered. A client that does not keep to the protocol or the time is left alone.
    pub fn serve(self, page: impl Fn(Format) -> Arc<str>) {
        let mut peers = Peers::new(|head: &[u8]| answer(head, &page), peers_max());
        loop {
            peers.serve(&self.listener);
        }
    }
}

fn answer(request: &[u8], page: &impl Fn(Format) -> Arc<str>) -> Answer {
    let (status, kind, body) = respond(request, page);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    Answer { head, body: (!request.starts_with(b"HEAD ")).then_some(body) }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn respond(
    head: &[u8],
    page: &impl Fn(Format) -> Arc<str>,
) -> (&'static str, &'static str, Arc<str>) {
    let head = String::from_utf8_lossy(head);
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !words.next().is_some_and(|it| it.starts_with("HTTP/1.")) {
        return ("400 Bad Request", PLAIN, "this is no request\n".into());
    }
    if !matches!(method, "GET" | "HEAD") {
        return ("405 Method Not Allowed", PLAIN, "only GET is answered\n".into());
    }
    match target.split('?').next() {
        Some("/metrics") if wants_open_metrics(&head) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, page(Format::OpenMetrics))
        }
        Some("/metrics") => {
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(Format::Text))
        }
        Some("/") => ("200 OK", PLAIN, FRONT.into()),
        _ => ("404 Not Found", PLAIN, FRONT.into()),
    }
}

fn wants_open_metrics(head: &str) -> bool {
    head.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("accept:") && line.contains("application/openmetrics-text")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::REQUEST_BYTES_MAX;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};
    use std::time::Duration;

    fn server() -> SocketAddr {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = server.address().unwrap();
        std::thread::spawn(move || server.serve(|format| format!("{format:?}\n").into()));
        address
    }

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn what_is_asked_for_is_answered_and_nothing_else() {
        let address = server();
        let open = ask(
            address,
            "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n",
        );
        assert!(open.starts_with("HTTP/1.1 200 OK\r\n"), "{open}");
        assert!(
            open.contains("Content-Type: application/openmetrics-text; version=1.0.0"),
            "{open}"
        );
        assert!(open.ends_with("\r\n\r\nOpenMetrics\n"), "{open}");
        assert!(ask(address, "GET /metrics?a=b HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nText\n"));
        let head = ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 5") && head.ends_with("\r\n\r\n"), "{head}");
        for (request, status) in [
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("hello\r\n\r\n", "400"),
            ("\r\n\r\n", "400"),
        ] {
            let answer = ask(address, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {answer}");
        }
    }

    #[test]
    fn one_that_sends_too_much_or_nothing_does_not_stop_others() {
        let address = server();
        let silent = TcpStream::connect(address).unwrap();
        assert_eq!(ask(address, &"x".repeat(4 * REQUEST_BYTES_MAX)), "");
        assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
        drop(silent);
    }

    /// None of whom says anything.
    #[test]
    fn many_that_are_silent_give_way_to_one_that_asks() {
        let address = server();
        let silent: Vec<TcpStream> =
            (0..1500).map_while(|_| TcpStream::connect(address).ok()).collect();
        // One after the other, the silent ones would have ten minutes.
        for _ in 0..3 {
            assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
        }
        drop(silent);
    }
}
