import {follow, pages} from '../components/header.tsx'

export function NotFoundPage() {
  return (
    <main className="page">
      <div className="page-empty">
        <h1>There is no page at this address</h1>
        <p>These are the pages of the desk:</p>
        <div className="crashed-ways">
          {pages.map(({path, title}) => (
            <a key={path} className="button" href={path} onClick={event => follow(event, path)}>
              {title}
            </a>
          ))}
        </div>
      </div>
    </main>
  )
}
